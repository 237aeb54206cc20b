import type { Decision, Snapshot } from "../decision.ts";
import { LockDraft, openLock } from "./draft.ts";
import { endOver } from "./ending.ts";
import type { Outcome } from "./outcome.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import { walkAll } from "./walk.ts";

export interface ResizeCommand {
  /** Of the semaphores. */
  readonly scope: LockScope;
  readonly name: string;
  readonly limit: number;
  readonly reason: string;
}

/**
 * Sets the limit of a semaphore, and grants what has become grantable; shrinking takes no permit
 * away, and passes over tickets that can never be served any more (L105, L106).
 */
export function decideResize(
  snapshot: Snapshot,
  command: ResizeCommand,
): Decision<Outcome<number>> {
  const draft = openLock(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  endOver(draft);
  draft.limit = command.limit;
  // A token of its own gives the entry its place in the history.
  draft.auditResize(draft.mint(), `limit ${command.limit}: ${command.reason}`);
  draft.stirBy("exclusive");
  return walkAll(draft.decision) ?? finish(draft, command.limit);
}
