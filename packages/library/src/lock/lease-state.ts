import type { DurationMs, MonotonicMs } from "../core/scalars.ts";
import type { LossReason } from "../errors.ts";

/**
 * What a holder knows of its lease: the pure half of the `Lease` object.
 *
 *     held --suspended--> unverified --renewal committed--> held
 *     held, unverified --local deadline, or the engine says so--> lost
 *     held, unverified --release--> released
 *
 * Lost and released are final (I10). `deadlineMs` follows from renewals that are known to have
 * committed; while the outcome of one is unknown, `doubtMs` is the earliest deadline that it may
 * have left behind, and the earlier of the two counts until a later renewal has committed (L42).
 */
export interface LeaseFacts {
  readonly phase: "held" | "unverified" | "lost" | "released";
  readonly reason: LossReason | null;
  /** Granted length, used by the next automatic renewal. */
  readonly leaseMs: DurationMs;
  /** Local deadline by the last renewal, or grant, that is known to have committed. */
  readonly deadlineMs: MonotonicMs;
  /** Earliest deadline that an unsettled change may have set; null when none is unsettled. */
  readonly doubtMs: MonotonicMs | null;
  /** The change under way; at most one at a time (L42). */
  readonly sent: SentChange | null;
  /** Number of the next change (L129). */
  readonly nextChange: number;
  /** Sending of the last change that committed, from which the next renewal is due. */
  readonly renewedAtMs: MonotonicMs;
  /** Failed renewals since the last success. */
  readonly failures: number;
}

export interface SentChange {
  readonly change: number;
  readonly sentAtMs: MonotonicMs;
  /** The deadline that the change leaves behind at the earliest, when it may shorten; else null. */
  readonly shortenedMs: MonotonicMs | null;
}

/**
 * The safety distance between the holder's deadline and the engine's end, for a lease of this
 * length: a tenth between 20 ms and 1 s, plus 500 ppm of drift, plus the clock error (section 8).
 */
export function marginMs(leaseMs: DurationMs, clockErrorMs: DurationMs): DurationMs {
  const distance = Math.min(1_000, Math.max(20, leaseMs / 10));
  return Math.ceil(distance + leaseMs / 2_000 + clockErrorMs);
}

/** Local deadline of a length that was asked for at `sentAtMs`, before the request left (L56). */
export function deadlineOf(
  sentAtMs: MonotonicMs,
  lengthMs: DurationMs,
  clockErrorMs: DurationMs,
): MonotonicMs {
  return sentAtMs + lengthMs - marginMs(lengthMs, clockErrorMs);
}

export function heldSince(
  sentAtMs: MonotonicMs,
  leaseMs: DurationMs,
  clockErrorMs: DurationMs,
): LeaseFacts {
  return {
    phase: "held",
    reason: null,
    leaseMs,
    deadlineMs: deadlineOf(sentAtMs, leaseMs, clockErrorMs),
    doubtMs: null,
    sent: null,
    nextChange: 1,
    renewedAtMs: sentAtMs,
    failures: 0,
  };
}

/** The deadline that counts now. */
export function effectiveDeadline(facts: LeaseFacts): MonotonicMs {
  const shortened = facts.sent?.shortenedMs ?? Infinity;
  return Math.min(facts.deadlineMs, facts.doubtMs ?? Infinity, shortened);
}

export function isOver(facts: LeaseFacts): boolean {
  return facts.phase === "lost" || facts.phase === "released";
}

/**
 * The local deadline is compared with the monotonic clock: inclusive, like every end (L48, L49).
 */
export function observe(facts: LeaseFacts, nowMs: MonotonicMs): LeaseFacts {
  if (isOver(facts) || nowMs < effectiveDeadline(facts)) return facts;
  return lose(facts, "expired");
}

/** A change is handed to the engine; `lengthMs` is given when the change may shorten the lease. */
export function changeSent(
  facts: LeaseFacts,
  sentAtMs: MonotonicMs,
  shortening: { readonly lengthMs: DurationMs; readonly clockErrorMs: DurationMs } | null,
): LeaseFacts {
  const shortenedMs =
    shortening === null ? null : deadlineOf(sentAtMs, shortening.lengthMs, shortening.clockErrorMs);
  const sent: SentChange = { change: facts.nextChange, sentAtMs, shortenedMs };
  return { ...facts, sent, nextChange: facts.nextChange + 1 };
}

/**
 * The change has committed: `remainingMs` is the stored end less the engine time of the commit. A
 * lease that was lost meanwhile stays lost, whatever the engine still holds (L48).
 */
export function changeCommitted(
  facts: LeaseFacts,
  commit: {
    readonly remainingMs: DurationMs;
    readonly leaseMs: DurationMs;
    readonly clockErrorMs: DurationMs;
  },
): LeaseFacts {
  const { sent } = facts;
  if (isOver(facts) || sent === null) return { ...facts, sent: null };
  return {
    ...facts,
    phase: "held",
    leaseMs: commit.leaseMs,
    deadlineMs: deadlineOf(sent.sentAtMs, commit.remainingMs, commit.clockErrorMs),
    doubtMs: null,
    sent: null,
    renewedAtMs: sent.sentAtMs,
    failures: 0,
  };
}

/** Nothing was stored, or nobody knows; in doubt the earlier deadline counts from now on (L42). */
export function changeFailed(facts: LeaseFacts, outcome: "none" | "unknown"): LeaseFacts {
  const shortened = outcome === "unknown" ? (facts.sent?.shortenedMs ?? null) : null;
  const doubtMs =
    shortened === null ? facts.doubtMs : Math.min(shortened, facts.doubtMs ?? Infinity);
  return { ...facts, doubtMs, sent: null, failures: facts.failures + 1 };
}

/** The host has slept: nothing can be vouched for until the engine answers (L60). */
export function suspended(facts: LeaseFacts): LeaseFacts {
  if (isOver(facts)) return facts;
  // What is under way was sent before the sleep: its answer vouches for nothing after it.
  const shortenedMs = facts.sent?.shortenedMs ?? Infinity;
  const doubtMs = Math.min(facts.doubtMs ?? Infinity, shortenedMs);
  return {
    ...facts,
    phase: "unverified",
    doubtMs: doubtMs === Infinity ? null : doubtMs,
    sent: null,
  };
}

export function lose(facts: LeaseFacts, reason: LossReason): LeaseFacts {
  return isOver(facts) ? facts : { ...facts, phase: "lost", reason };
}

export function release(facts: LeaseFacts): LeaseFacts {
  return isOver(facts) ? facts : { ...facts, phase: "released" };
}

/**
 * When the next automatic renewal is due: a third of the lease after the sending of the last
 * success, up to a tenth of that earlier by `fraction`; after a failure again within a twelfth of
 * the lease, at most 1 s, halved at random (section 8).
 */
export function nextRenewalMs(
  facts: LeaseFacts,
  nowMs: MonotonicMs,
  fraction: number,
): MonotonicMs {
  if (facts.failures > 0) {
    return nowMs + Math.min(1_000, facts.leaseMs / 12) * (1 - fraction / 2);
  }
  return facts.renewedAtMs + (facts.leaseMs / 3) * (1 - fraction / 10);
}

/** How long one renewal attempt may take before it is given up (section 8). */
export function renewalTimeoutMs(leaseMs: DurationMs): DurationMs {
  return Math.min(5_000, Math.max(50, leaseMs / 4));
}
