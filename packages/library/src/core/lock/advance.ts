import type { Needs } from "../decision.ts";
import type { LockDraft } from "./draft.ts";
import { endOver } from "./ending.ts";
import { walkAll, walkLock, type Wanted } from "./walk.ts";

/**
 * The prologue of every decision that may write (docs/spec/locks.md section 6.1): ends what is over
 * and grants what has become grantable. Only then is the command itself judged.
 *
 * The walk over the queue looks only at tickets that conflict with something which has ended or is
 * over, and at those that keep back what the command is made for; the others stay as they are, and
 * nothing of theirs is read (L132).
 */
export function advance(draft: LockDraft, wanted?: Wanted): Needs | undefined {
  endOver(draft);
  const needs = wanted === undefined ? undefined : walkLock(draft, wanted);
  return needs ?? walkAll(draft.decision);
}
