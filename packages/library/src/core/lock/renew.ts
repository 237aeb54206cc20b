import type { Decision, Snapshot } from "../decision.ts";
import type { DurationMs, EpochMs, FencingToken } from "../scalars.ts";
import { endOver } from "./ending.ts";
import { DecisionDraft } from "./draft.ts";
import { type Outcome } from "./outcome.ts";
import type { LockDraft } from "./draft.ts";
import { grantOf } from "./own-grant.ts";
import type { Actor, Grant, How } from "./record.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import { isLiveForHolder } from "./validity.ts";
import { walkAll } from "./walk.ts";

/**
 * A change of a lease's end. `set` is what a caller asks for by `renew`: it may shorten and becomes
 * the length of later renewals. `keep` and `extend` never shorten (L38).
 */
export interface RenewCommand {
  readonly scope: LockScope;
  readonly name: string;
  readonly id: string;
  readonly token: FencingToken;
  /** Further locks of a batch, with their tokens: all are renewed, or the lease is lost (L82). */
  readonly also?: readonly { readonly name: string; readonly token: FencingToken }[] | undefined;
  /** Rises with every change of this lease; a lower one than the stored changes nothing (L129). */
  readonly change: number;
  readonly how: "set" | "keep" | "extend";
  /** The length asked for; null for the granted one. */
  readonly lengthMs: DurationMs | null;
}

export type RenewResult = RenewedResult | LostResult;

export interface RenewedResult {
  readonly kind: "renewed";
  readonly expiresAt: EpochMs;
  readonly leaseMs: DurationMs;
}

export interface LostResult {
  readonly kind: "lost";
  /** How the grant ended; null when the record does not say, `expired` while it still stands. */
  readonly how: How | "expired" | "missing" | null;
  readonly by?: Actor;
  readonly reason?: string;
  /** The counter was found below the token, so the store went back in time; it was raised (L64). */
  readonly isRewind: boolean;
}

/**
 * Sets the end of a live lease. A lease that is over is lost even if nobody took the lock, and the
 * successor is granted by this very decision (L39). A renewal always writes, even an end that
 * stays, so that an earlier one still under way is refused (L128).
 */
export function decideRenew(
  snapshot: Snapshot,
  command: RenewCommand,
): Decision<Outcome<RenewResult>> {
  const { name, token, also = [] } = command;
  const decision = new DecisionDraft(snapshot, command.scope);
  const entries = [{ name, token }, ...also];
  const locks = decision.open(entries.map((entry) => entry.name));
  if ("needs" in locks) return locks;
  for (const lock of locks) endOver(lock);
  const result = renewAll(locks, entries, command);
  return walkAll(decision) ?? finish({ decision }, result);
}

function renewAll(
  locks: readonly LockDraft[],
  entries: readonly { readonly token: FencingToken }[],
  command: RenewCommand,
): RenewResult {
  for (const [index, lock] of locks.entries()) {
    const grant = grantOf(lock, command.id);
    if (grant !== undefined && isLiveForHolder(grant, lock.now)) continue;
    return lost(lock, grant, command.id, (entries[index] as (typeof entries)[number]).token);
  }
  const parts = locks.map((lock) => renewed(lock, grantOf(lock, command.id) as Grant, command));
  const first = parts[0] as RenewedResult;
  return { ...first, expiresAt: Math.min(...parts.map(({ expiresAt }) => expiresAt)) };
}

function renewed(draft: LockDraft, grant: Grant, command: RenewCommand): RenewedResult {
  draft.relyOn(grant.expiresAt);
  if (command.change < grant.change) {
    return { kind: "renewed", expiresAt: grant.expiresAt, leaseMs: grant.leaseMs };
  }
  const lengthMs = command.lengthMs ?? grant.leaseMs;
  const end = draft.now + lengthMs;
  const moves = command.how === "set" || end > grant.expiresAt;
  const leaseMs = command.how === "set" ? lengthMs : grant.leaseMs;
  draft.replaceGrant(grant.id, {
    ...grant,
    leaseMs,
    change: command.change,
    ...(moves ? { spanMs: lengthMs, expiresAt: end } : {}),
  });
  return { kind: "renewed", expiresAt: moves ? end : grant.expiresAt, leaseMs };
}

/** How the grant of a lease id is over, as far as the record tells. */
export function lost(
  draft: LockDraft,
  grant: Grant | undefined,
  id: string,
  token: FencingToken,
): LostResult {
  if (draft.counter < token) {
    raiseCounter(draft, token);
    return { kind: "lost", how: "missing", isRewind: true };
  }
  if (grant?.forced !== undefined) {
    const { by, reason } = grant.forced;
    return { kind: "lost", how: "forced", by, reason, isRewind: false };
  }
  if (grant !== undefined) return { kind: "lost", how: "expired", isRewind: false };
  const ended = draft.endedOf(id);
  if (ended === undefined) {
    return { kind: "lost", how: draft.isAbsent ? "missing" : null, isRewind: false };
  }
  const { how, by, reason } = ended;
  return {
    kind: "lost",
    how,
    ...(by === undefined ? {} : { by }),
    ...(reason === undefined ? {} : { reason }),
    isRewind: false,
  };
}

/** Raises the counter to a token that is known to have been given out, and audits it (L64, L65). */
export function raiseCounter(draft: LockDraft, token: FencingToken, reason?: string): void {
  draft.counter = token;
  draft.hasChanged = true;
  draft.auditRaise(token, reason);
}
