import type { Decision, Snapshot } from "../decision.ts";
import type { DurationMs, EpochMs } from "../scalars.ts";
import { decodeClock } from "./codec.ts";
import { clockKey, presenceKey } from "./keys.ts";
import { presenceOf } from "./presence.ts";
import type { LockScope } from "./scope.ts";

/** Decisions on the records of a space itself: its presence, and the agreed clock bound. */

/** Renews the presence of the deciding space; its tickets live as long as this record (L21). */
export function decidePresence(snapshot: Snapshot, scope: LockScope): Decision<EpochMs> {
  const key = presenceKey(scope.namespace, scope.presence);
  if (!snapshot.has(key)) return { needs: [key] };
  const value = presenceOf(scope, snapshot.now);
  return { writes: [{ key, value }], outcome: snapshot.now + scope.presenceMs };
}

/** Deletes the presence of a space that closes (L119). */
export function decideAbsence(snapshot: Snapshot, scope: LockScope): Decision<null> {
  const key = presenceKey(scope.namespace, scope.presence);
  if (!snapshot.has(key)) return { needs: [key] };
  const writes = snapshot.get(key) === undefined ? [] : [{ key, value: null }];
  return { writes, outcome: null };
}

export interface ClockCommand {
  readonly namespace: string;
  readonly clockErrorMs: DurationMs;
  readonly isReadOnly: boolean;
}

/** The clock bound that all clients of the namespace agree on; the first one writes it (LS180). */
export function decideClock(snapshot: Snapshot, command: ClockCommand): Decision<DurationMs> {
  const key = clockKey(command.namespace);
  if (!snapshot.has(key)) return { needs: [key] };
  const agreedMs = decodeClock(key, snapshot.get(key));
  if (agreedMs !== undefined) return { writes: [], outcome: agreedMs };
  const { clockErrorMs, isReadOnly } = command;
  if (isReadOnly) return { writes: [], outcome: clockErrorMs };
  return { writes: [{ key, value: { v: 1, errorMs: clockErrorMs } }], outcome: clockErrorMs };
}
