import type { GrantFacts } from "../core/lock/facts.ts";
import type { GiveUpResult, TicketAnswer } from "../core/lock/look.ts";
import type { How } from "../core/lock/record.ts";
import type { Denial } from "../core/lock/views.ts";
import type { LeaseholdError } from "../errors.ts";
import type { AskResult } from "./wish.ts";

/**
 * One acquiring call: the pure half of a waiter.
 *
 *     asking --granted--> settled          asking --queued--> queued
 *     asking --refused, full--> settled    asking --gone--> asking (new attempt id)
 *     queued --granted--> settled          queued --gone--> asking (new attempt id)
 *     queued --wait over--> leaving        leaving --granted, removed, gone--> settled
 *     any --abort, close, no answer--> settled, and what may be stored is cancelled
 *
 * Settled is final: whatever arrives later is answered by `cancel` when it may have left something
 * in the store, and by nothing otherwise (I18, I24).
 */
export interface AttemptFacts {
  readonly phase: "asking" | "queued" | "leaving" | "settled";
  /** Something of this attempt id may be stored: asked with an unknown outcome, or queued. */
  readonly mayBeStored: boolean;
  /** The attempt must be looked for before it is made (L15). */
  readonly isRepeat: boolean;
  /** Number of the ticket; null while none is known. */
  readonly number: number | null;
  /** The last denial seen, told by a time-out (L28). */
  readonly denial: Denial | null;
  /** A decision on this attempt was answered at least once (L29). */
  readonly wasAnswered: boolean;
  /** The wait of the call is over. */
  readonly isWaitOver: boolean;
  /** The call has been settled by a grant, so a later answer of the same attempt is no news. */
  readonly isGranted: boolean;
}

export type AttemptAction =
  | { readonly do: "ask" }
  | { readonly do: "ask-anew"; readonly how: How | null }
  | { readonly do: "advance-then-ask" }
  | { readonly do: "await-grant" }
  | { readonly do: "leave" }
  | { readonly do: "retry" }
  | { readonly do: "nothing" }
  | { readonly do: "grant"; readonly grant: GrantFacts }
  | { readonly do: "refuse"; readonly denial: Denial; readonly isTimeout: boolean }
  | { readonly do: "full"; readonly depth: number; readonly limit: number }
  | { readonly do: "mismatch"; readonly recorded: number }
  | { readonly do: "fail-with"; readonly error: LeaseholdError }
  | { readonly do: "fail"; readonly isCancelDue: boolean }
  | { readonly do: "cancel" };

export interface AttemptStep {
  readonly facts: AttemptFacts;
  readonly action: AttemptAction;
}

export const newAttempt: AttemptFacts = Object.freeze({
  phase: "asking",
  mayBeStored: false,
  isRepeat: false,
  number: null,
  denial: null,
  wasAnswered: false,
  isWaitOver: false,
  isGranted: false,
});

/** The answer to an acquire decision. */
export function onAsked(facts: AttemptFacts, result: AskResult): AttemptStep {
  const answered: AttemptFacts = { ...facts, wasAnswered: true };
  if (facts.phase === "settled") {
    return lateAnswer(answered, result.kind === "granted" || result.kind === "queued");
  }
  switch (result.kind) {
    case "granted":
      return settle(answered, { do: "grant", grant: result.grant });
    case "queued": {
      const { number, denial } = result;
      const queued: AttemptFacts = {
        ...answered,
        phase: facts.isWaitOver ? "leaving" : "queued",
        mayBeStored: true,
        number,
        denial,
      };
      return { facts: queued, action: { do: facts.isWaitOver ? "leave" : "await-grant" } };
    }
    case "refused":
      return settle(answered, { do: "refuse", denial: result.denial, isTimeout: false });
    case "full":
      return settle(answered, { do: "full", depth: result.depth, limit: result.limit });
    case "mismatch":
      return settle(answered, { do: "mismatch", recorded: result.recorded });
    case "failed":
      return settle({ ...answered, mayBeStored: false }, { do: "fail-with", error: result.error });
    case "gone":
      return askAnew(answered, result.how);
    case "unjudged":
      // The commit was made without a verdict, so the attempt itself has left nothing behind.
      return { facts: answered, action: { do: "advance-then-ask" } };
  }
}

/** A look, or a decision of the own process, has told what became of the ticket. */
export function onTicketAnswer(facts: AttemptFacts, answer: TicketAnswer): AttemptStep {
  if (facts.phase === "settled") return lateAnswer(facts, answer.kind === "granted");
  const answered: AttemptFacts = { ...facts, wasAnswered: true };
  if (answer.kind === "granted") return settle(answered, { do: "grant", grant: answer.grant });
  // What is gone from the store needs no cancel.
  if (facts.phase === "leaving") return timedOut({ ...answered, mayBeStored: false });
  return askAnew(answered, answer.how);
}

/** The wait of the call is over: the final decision is due (L26). */
export function onWaitOver(facts: AttemptFacts): AttemptStep {
  const over: AttemptFacts = { ...facts, isWaitOver: true };
  if (facts.phase !== "queued") return { facts: over, action: { do: "nothing" } };
  return { facts: { ...over, phase: "leaving" }, action: { do: "leave" } };
}

/** The answer to the final decision. */
export function onLeft(facts: AttemptFacts, result: GiveUpResult): AttemptStep {
  if (facts.phase === "settled") return lateAnswer(facts, result.kind === "granted");
  switch (result.kind) {
    case "granted":
      return settle(facts, { do: "grant", grant: result.grant });
    case "removed":
      return settle(
        { ...facts, mayBeStored: false },
        { do: "refuse", denial: result.denial, isTimeout: true },
      );
    case "gone":
      return timedOut({ ...facts, mayBeStored: false });
    case "unjudged":
      return { facts, action: { do: "leave" } };
  }
}

/**
 * An engine call has failed. Asking goes on while it may help; leaving goes on until it is known.
 */
export function onFailed(
  facts: AttemptFacts,
  failure: { readonly outcome: "none" | "unknown"; readonly isTransient: boolean },
): AttemptStep {
  const isUnknown = failure.outcome === "unknown";
  const after: AttemptFacts = {
    ...facts,
    mayBeStored: facts.mayBeStored || isUnknown,
    isRepeat: facts.isRepeat || isUnknown,
  };
  if (facts.phase === "settled") return lateAnswer(after, isUnknown);
  if (isUnknown || failure.isTransient) {
    const isLast = facts.phase === "asking" && facts.isWaitOver;
    return isLast ? noAnswer(after) : { facts: after, action: { do: "retry" } };
  }
  return settle(after, { do: "fail", isCancelDue: after.mayBeStored });
}

/** No answer came in the time that the final decision has (L26, L29). */
export function noAnswer(facts: AttemptFacts): AttemptStep {
  if (facts.phase === "settled") return { facts, action: { do: "nothing" } };
  const { denial, mayBeStored } = facts;
  if (denial === null) return settle(facts, { do: "fail", isCancelDue: mayBeStored });
  return settle(facts, { do: "refuse", denial, isTimeout: true });
}

/** The caller gives up, or the space closes (L30, L119). */
export function onGivenUp(facts: AttemptFacts): AttemptStep {
  if (facts.phase === "settled") return { facts, action: { do: "nothing" } };
  // An attempt that is being asked for may be on its way, whatever the engine says of it later.
  const mayBeStored = facts.mayBeStored || facts.phase === "asking";
  return settle({ ...facts, mayBeStored }, { do: "fail", isCancelDue: mayBeStored });
}

function settle(facts: AttemptFacts, action: AttemptAction): AttemptStep {
  return { facts: { ...facts, phase: "settled", isGranted: action.do === "grant" }, action };
}

/** The ticket is gone although its process lives: another attempt is made at the tail (L25). */
function askAnew(facts: AttemptFacts, how: How | null): AttemptStep {
  if (facts.isWaitOver) return timedOut(facts);
  const anew: AttemptFacts = { ...newAttempt, denial: facts.denial, wasAnswered: true };
  return { facts: anew, action: { do: "ask-anew", how } };
}

function timedOut(facts: AttemptFacts): AttemptStep {
  if (facts.denial === null) return settle(facts, { do: "fail", isCancelDue: false });
  return settle(facts, { do: "refuse", denial: facts.denial, isTimeout: true });
}

function lateAnswer(facts: AttemptFacts, hasLeftSomething: boolean): AttemptStep {
  const isCancelDue = hasLeftSomething && !facts.isGranted;
  return { facts, action: { do: isCancelDue ? "cancel" : "nothing" } };
}
