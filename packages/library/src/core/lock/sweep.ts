import type { Decision, Snapshot, Write } from "../decision.ts";
import type { RecordKey } from "../key.ts";
import type { DurationMs, EpochMs, FencingToken, Json } from "../scalars.ts";
import { auditRecordOf } from "./audit.ts";
import { endOver } from "./ending.ts";
import {
  decodeAudit,
  decodeBatch,
  decodeFloor,
  decodeLock,
  decodePresence,
  decodeSweepTurn,
} from "./codec.ts";
import { openLock } from "./draft.ts";
import { type Outcome } from "./outcome.ts";
import { LockDraft } from "./draft.ts";
import type { EndFacts } from "./facts.ts";
import { floorKey, lockKey, presenceKey, sweepKey } from "./keys.ts";
import type { AuditEntry, Grant, LockRecord } from "./record.ts";
import { raiseCounter } from "./renew.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import { blocksUntil } from "./validity.ts";
import { walkAll, walkOn } from "./walk.ts";

/** How long records are kept after their last use (docs/spec/locks.md section 3). */
export interface Retention {
  readonly freeMs: DurationMs;
  readonly claimMs: DurationMs;
  readonly auditMs: DurationMs;
}

export const retentionDefault: Retention = Object.freeze({
  freeMs: 600_000,
  claimMs: 86_400_000,
  auditMs: 2_592_000_000,
});

/** What the sweep should do about a listed record: nothing, delete it, or advance it first. */
export function sweepVerdict(
  record: LockRecord,
  now: EpochMs,
  retention: Retention,
  clockErrorMs: DurationMs,
): "keep" | "delete" | "advance" {
  if (record.touchedAt > now - retention.freeMs) return "keep";
  const isOver = (grant: Grant): boolean => now >= blocksUntil(grant, clockErrorMs);
  if (!record.grants.every(isOver)) return "keep";
  if (record.queue.length > 0 || record.pages !== undefined) return "advance";
  const isKept = (grant: Grant): boolean => {
    const keptMs = grant.kind === "lease" ? retention.freeMs : retention.claimMs;
    return now < grant.expiresAt + keptMs;
  };
  return record.grants.some(isKept) ? "keep" : "delete";
}

export interface SweepCommand {
  readonly scope: LockScope;
  readonly names: readonly string[];
  readonly retention: Retention;
}

export interface SweepResult {
  readonly deleted: readonly string[];
  readonly reclaimed: readonly EndFacts[];
}

/**
 * Deletes idle records of several locks and raises the floor to at least their counters; the floor
 * record is written anew even when its value stays, so that a commit sent earlier against an absent
 * record fails (L63, L123).
 */
export function decideSweep(snapshot: Snapshot, command: SweepCommand): Decision<SweepResult> {
  const { scope, names, retention } = command;
  const keys = names.map((name) => lockKey(scope.namespace, name, scope.part));
  const floorAt = floorKey(scope.namespace);
  const needs = [...keys, floorAt].filter((key) => !snapshot.has(key));
  if (needs.length > 0) return { needs: [...keys, floorAt] };
  const writes: Write[] = [];
  const deleted: string[] = [];
  const reclaimed: EndFacts[] = [];
  let floor = decodeFloor(floorAt, snapshot.get(floorAt));
  for (const key of keys) {
    const value = snapshot.get(key);
    if (value === undefined) continue;
    const record = decodeLock(key, value);
    if (sweepVerdict(record, snapshot.now, retention, scope.clockErrorMs) !== "delete") continue;
    floor = Math.max(floor, record.counter);
    const name = key[2] as string;
    writes.push({ key, value: null });
    deleted.push(name);
    const ended = record.grants.filter((grant) => grant.forced === undefined);
    reclaimed.push(...ended.map(({ token, owner, kind }) => ({ name, token, owner, kind })));
    writes.push(...auditReclaimed({ scope, name, now: snapshot.now }, ended));
  }
  const unread = writes.map(({ key }) => key).filter((key) => !snapshot.has(key));
  if (unread.length > 0) return { needs: unread };
  if (deleted.length > 0) writes.push({ key: floorAt, value: { v: 1, floor } });
  return { writes, outcome: { deleted, reclaimed } };
}

function auditReclaimed(
  scene: { readonly scope: LockScope; readonly name: string; readonly now: EpochMs },
  ended: readonly Grant[],
): readonly Write[] {
  if (scene.scope.audit === "off") return [];
  const [first, ...also] = ended.map(({ token, owner, actor, mode, grantedAt }): AuditEntry => {
    const heldMs = Math.max(0, scene.now - grantedAt);
    return { token, kind: "reclaimed", owner, actor, mode, heldMs };
  });
  return first === undefined ? [] : [auditRecordOf(scene, first, also)];
}

/**
 * Ends what is over on one lock and grants what has become grantable, from a ticket number on; for
 * what the widening bound has left over (L131).
 */
export function decideAdvance(
  snapshot: Snapshot,
  command: { readonly scope: LockScope; readonly name: string; readonly from?: number },
): Decision<Outcome<null>> {
  const draft = openLock(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  endOver(draft);
  return walkOn(draft, command.from ?? 0) ?? finish(draft, null);
}

/** Takes the turn to sweep, so that one process at a time does (section 3). */
export function decideSweepTurn(
  snapshot: Snapshot,
  command: { readonly scope: LockScope; readonly periodMs: DurationMs },
): Decision<boolean> {
  const key = sweepKey(command.scope.namespace);
  if (!snapshot.has(key)) return { needs: [key] };
  const at = decodeSweepTurn(key, snapshot.get(key));
  const isDue = snapshot.now >= at + command.periodMs || at > snapshot.now + command.periodMs;
  if (!isDue) return { writes: [], outcome: false };
  const value: Json = { v: 1, at: snapshot.now, by: command.scope.presence };
  return { writes: [{ key, value }], outcome: true };
}

export interface ForgetCommand {
  readonly keys: readonly RecordKey[];
  readonly retention: Retention;
}

/**
 * Deletes presences that are long dead, audit entries past their retention, and the parts of
 * batches whose process is gone (L123).
 */
export function decideForget(snapshot: Snapshot, command: ForgetCommand): Decision<number> {
  const { keys, retention } = command;
  const owners = keys.flatMap((key) => ownerOf(snapshot, key));
  const needs = [...keys, ...owners].filter((key) => !snapshot.has(key));
  if (needs.length > 0) return { needs };
  const { now } = snapshot;
  const writes = keys
    .filter((key) => {
      const value = snapshot.get(key);
      if (value === undefined) return false;
      if (key[0] === "audit") return decodeAudit(key, value).at <= now - retention.auditMs;
      if (key[0] === "batch") return isOrphan(snapshot, key);
      const presence = decodePresence(key, value);
      return presence !== undefined && presence.aliveUntil <= now - retention.freeMs;
    })
    .map((key) => ({ key, value: null }));
  return { writes, outcome: writes.length };
}

/** The presence that a batch record stands under. */
function ownerOf(snapshot: Snapshot, key: RecordKey): readonly RecordKey[] {
  if (key[0] !== "batch" || !snapshot.has(key)) return [];
  const batch = decodeBatch(key, snapshot.get(key));
  return batch === undefined ? [] : [presenceKey(key[1] as string, batch.presence)];
}

/** Whether the process of a batch has been gone so long that its presence was swept. */
function isOrphan(snapshot: Snapshot, key: RecordKey): boolean {
  return ownerOf(snapshot, key).every((owner) => snapshot.get(owner) === undefined);
}

export interface RaiseFloorCommand {
  readonly scope: LockScope;
  readonly to: FencingToken;
}

/** Raises the floor; it is never lowered. The step after restoring a backup (L65). */
export function decideRaiseFloor(snapshot: Snapshot, command: RaiseFloorCommand): Decision<number> {
  const key = floorKey(command.scope.namespace);
  if (!snapshot.has(key)) return { needs: [key] };
  const floor = Math.max(decodeFloor(key, snapshot.get(key)), command.to);
  return { writes: [{ key, value: { v: 1, floor } }], outcome: floor };
}

/** Raises the counter of one existing lock to a floor that was raised (L65). */
export function decideRaiseCounter(
  snapshot: Snapshot,
  command: RaiseFloorCommand & { readonly name: string; readonly reason?: string },
): Decision<Outcome<number>> {
  const draft = openLock(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  endOver(draft);
  if (!draft.isAbsent && draft.counter < command.to) {
    raiseCounter(draft, command.to, command.reason);
  }
  const needs = walkAll(draft.decision);
  return needs ?? finish(draft, draft.counter);
}
