import type { Decision, Snapshot } from "../decision.ts";
import type { DurationMs, EpochMs, FencingToken } from "../scalars.ts";
import { endOver, walk } from "./advance.ts";
import { LockDraft, type Outcome } from "./draft.ts";
import { grantOf } from "./own-grant.ts";
import type { Actor, Grant, How } from "./record.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import { isLiveForHolder } from "./validity.ts";

/**
 * A change of a lease's end. `set` is what a caller asks for by `renew`: it may shorten and becomes
 * the length of later renewals. `keep` and `extend` never shorten (L38).
 */
export interface RenewCommand {
  readonly scope: LockScope;
  readonly name: string;
  readonly id: string;
  readonly token: FencingToken;
  /** Rises with every change of this lease; a lower one than the stored changes nothing (L129). */
  readonly change: number;
  readonly how: "set" | "keep" | "extend";
  /** The length asked for; null for the granted one. */
  readonly lengthMs: DurationMs | null;
}

export type RenewResult =
  | { readonly kind: "renewed"; readonly expiresAt: EpochMs; readonly leaseMs: DurationMs }
  | LostResult;

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
  const draft = LockDraft.open(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  const isWalkDue = endOver(draft);
  const grant = grantOf(draft, command.id);
  const result =
    grant !== undefined && isLiveForHolder(grant, draft.now)
      ? renewed(draft, grant, command)
      : lost(draft, grant, command);
  const needs = isWalkDue ? walk(draft, false) : undefined;
  return needs ?? finish(draft, result);
}

function renewed(draft: LockDraft, grant: Grant, command: RenewCommand): RenewResult {
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

function lost(draft: LockDraft, grant: Grant | undefined, command: RenewCommand): LostResult {
  if (draft.counter < command.token) {
    raiseCounter(draft, command.token);
    return { kind: "lost", how: "missing", isRewind: true };
  }
  if (grant?.forced !== undefined) {
    const { by, reason } = grant.forced;
    return { kind: "lost", how: "forced", by, reason, isRewind: false };
  }
  if (grant !== undefined) return { kind: "lost", how: "expired", isRewind: false };
  const ended = draft.endedOf(command.id);
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
