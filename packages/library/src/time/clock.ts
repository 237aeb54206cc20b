import type { DurationMs, EpochMs, MonotonicMs } from "../core/scalars.ts";

/** A timer that can be cancelled; cancelling one that has fired does nothing. */
export interface Timer {
  cancel(): void;
  /** Whether the timer keeps the process alive. */
  setReferenced(isReferenced: boolean): void;
}

/**
 * The only source of time in the library; handed in where a space or an engine is made.
 *
 * Calendar time (`wallMs`) may be set by people and is never used to judge a lease. Monotonic time
 * measures what has elapsed in this process.
 */
export interface Clock {
  wallMs(): EpochMs;
  monotonicMs(): MonotonicMs;
  /**
   * Runs `fire` once, `afterMs` or later from now; lengths beyond 2^31-1 ms are chained (L59).
   * The timer starts unreferenced: it does not keep the process alive unless told to.
   */
  timer(afterMs: DurationMs, fire: () => void): Timer;
  /** Runs `fire` after the events that are already waiting; lets the event loop breathe. */
  yield(fire: () => void): void;
}

/** The only source of chance in the library. */
export interface Entropy {
  /** A new unguessable id of 128 bits, 22 characters of base64url. */
  id(): string;
  /** A number from 0 up to, but not including, 1; for jitter, never for secrets. */
  fraction(): number;
}
