import type { DurationMs, EpochMs } from "../scalars.ts";
import type { Grant, Mode, PresenceRecord, Ticket } from "./record.ts";

/**
 * When a grant, a ticket and a presence are over, and what conflicts with what
 * (docs/spec/locks.md sections 6.2 and 6.3). Ends are inclusive: over when `now >= end` (L53).
 */

/** Whether the holder itself may still act on its grant. */
export function isLiveForHolder(grant: Grant, now: EpochMs): boolean {
  return now < grant.expiresAt && grant.forced === undefined;
}

/** Instant from which others see the grant as over, its lock-delay not counted. */
export function endForOthers(grant: Grant, clockErrorMs: DurationMs): EpochMs {
  return grant.expiresAt + clockErrorMs;
}

/** Instant until which the grant keeps conflicting requests out, its lock-delay counted (L57). */
export function blocksUntil(grant: Grant, clockErrorMs: DurationMs): EpochMs {
  const delayMs = grant.state === "held" ? grant.lockDelayMs : 0;
  return grant.expiresAt + clockErrorMs + delayMs;
}

export function conflicts(one: Mode, other: Mode): boolean {
  return one === "exclusive" || other === "exclusive";
}

/** A request as far as its lock is concerned, of a newcomer or of a ticket. */
export interface Asked {
  readonly mode: Mode;
  readonly permits?: number | undefined;
  readonly upgrades?: string | undefined;
}

/** Whether a ticket's own wait is over; its presence is judged by {@link isPresent}. */
export function hasGivenUp(ticket: Ticket, now: EpochMs): boolean {
  return ticket.giveUpAt !== null && now >= ticket.giveUpAt;
}

export function isPresent(
  presence: PresenceRecord | undefined,
  now: EpochMs,
  clockErrorMs: DurationMs,
): boolean {
  return presence !== undefined && now < presence.aliveUntil + clockErrorMs;
}

/** Whether a presence has used up more than half of its length, or is absent or too far away. */
export function wantsRenewal(
  presence: PresenceRecord | undefined,
  now: EpochMs,
  clockErrorMs: DurationMs,
): boolean {
  if (presence === undefined) return true;
  const leftMs = presence.aliveUntil - now;
  return leftMs < presence.spanMs / 2 || leftMs > presence.spanMs + clockErrorMs;
}
