import type { Decision } from "../decision.ts";
import type { LockDraft, Outcome } from "./draft.ts";
import { refill } from "./queue.ts";

/** Ends a decision: tops the record's part of the queue up, if it changed, and makes the writes. */
export function finish<Result>(draft: LockDraft, result: Result): Decision<Outcome<Result>> {
  const needs = draft.hasChanged ? refill(draft) : undefined;
  return needs ?? draft.decide(result);
}
