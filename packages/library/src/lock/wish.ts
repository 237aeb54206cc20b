import type { Decision, Snapshot } from "../core/decision.ts";
import type { RecordKey } from "../core/key.ts";
import type { AcquireResult } from "../core/lock/acquire.ts";
import type { GrantFacts } from "../core/lock/facts.ts";
import type { TicketRef } from "../core/lock/look.ts";
import type { Outcome } from "../core/lock/outcome.ts";
import type { LockScope } from "../core/lock/scope.ts";
import type { DurationMs, MonotonicMs } from "../core/scalars.ts";
import type { LeaseholdError } from "../errors.ts";

/** The answer to an asking decision; `failed` ends the call with an error of its own. */
export type AskResult = AcquireResult | { readonly kind: "failed"; readonly error: LeaseholdError };

/** One attempt of a wish; a wish that loses its place is asked for anew, under another id. */
export interface Attempted {
  readonly id: string;
  /** An earlier attempt of this id may be stored (L15). */
  readonly isRepeat: boolean;
  /** What is left of the wait; null without limit. */
  readonly waitMs: DurationMs | null;
}

/** A ticket as far as it is known: its number on the first lock, null while none was answered. */
export interface KnownTicket {
  readonly id: string;
  readonly number: number | null;
}

/**
 * What a waiter waits for: a lock, several at once, a place of a semaphore, or that a shared lease
 * becomes exclusive. It says which decisions ask for it and give it up; the waiter runs them.
 */
export interface Wish {
  /** The name that errors and events tell. */
  readonly name: string;
  readonly scope: LockScope;
  /** The keys of all its locks. */
  readonly keys: readonly RecordKey[];
  /** The names of all its locks, in the order in which they were asked for. */
  readonly names: readonly string[];
  readonly limit: number;
  ask(attempt: Attempted): (snapshot: Snapshot) => Decision<Outcome<AskResult>>;
  /** The ticket as a look at one of the locks names it. */
  ticketOn(name: string, id: string, number: number): TicketRef;
  /** Gives an attempt up in the background. */
  cancel(ticket: KnownTicket): void;
  /** Whether a grant is over for its holder before the holder has heard of it. */
  isOverdue(grant: GrantFacts, sentAtMs: MonotonicMs): boolean;
}
