import type { Decision, Snapshot } from "../decision.ts";
import type { FencingToken, Json } from "../scalars.ts";
import { LockDraft, openLock } from "./draft.ts";
import { endOver } from "./ending.ts";
import type { Outcome } from "./outcome.ts";
import { grantOf } from "./own-grant.ts";
import { lost, type LostResult } from "./renew.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import { isLiveForHolder } from "./validity.ts";
import { walkAll } from "./walk.ts";

export interface ProclaimCommand {
  readonly scope: LockScope;
  readonly name: string;
  /** The lease id of the leadership. */
  readonly id: string;
  readonly token: FencingToken;
  /** Rises with every change of this lease; a lower one than the stored changes nothing (L129). */
  readonly change: number;
  readonly value: Json;
}

/** Changes the value that others see beside a live leadership (L104). */
export function decideProclaim(
  snapshot: Snapshot,
  command: ProclaimCommand,
): Decision<Outcome<{ readonly kind: "proclaimed" } | LostResult>> {
  const draft = openLock(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  endOver(draft);
  const needs = walkAll(draft.decision);
  if (needs !== undefined) return needs;
  const grant = grantOf(draft, command.id);
  if (grant === undefined || !isLiveForHolder(grant, draft.now)) {
    return finish(draft, lost(draft, grant, command.id, command.token));
  }
  draft.relyOn(grant.expiresAt);
  const { change, value } = command;
  const isDue = change >= grant.change;
  draft.replaceGrant(grant.id, isDue ? { ...grant, change, value } : grant);
  return finish(draft, { kind: "proclaimed" });
}
