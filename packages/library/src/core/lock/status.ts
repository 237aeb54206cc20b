import type { Decision, Snapshot } from "../decision.ts";
import type { RecordKey } from "../key.ts";
import type { DurationMs, EpochMs, Json } from "../scalars.ts";
import { decodeLock, decodePage } from "./codec.ts";
import { holderView } from "./denial.ts";
import { lockKey, queueKey } from "./keys.ts";
import type { Grant, LockRecord, Ticket } from "./record.ts";
import { blocksUntil, endForOthers } from "./validity.ts";
import { queueShownMax, type LockState, type LockStatus } from "./views.ts";

export interface StatusCommand {
  readonly namespace: string;
  readonly name: string;
  readonly clockErrorMs: DurationMs;
}

/** What a lock looks like now. Writes nothing, grants nothing, reclaims nothing (L107). */
export function decideStatus(snapshot: Snapshot, command: StatusCommand): Decision<LockStatus> {
  const { namespace, name } = command;
  const key = lockKey(namespace, name);
  if (!snapshot.has(key)) return { needs: [key] };
  const value = snapshot.get(key);
  const scene = { now: snapshot.now, clockErrorMs: command.clockErrorMs, name };
  if (value === undefined) return { writes: [], outcome: statusOf(scene, undefined, []) };
  const record = decodeLock(key, value);
  const { pages } = record;
  if (pages === undefined || record.queue.length >= queueShownMax) {
    return { writes: [], outcome: statusOf(scene, record, record.queue) };
  }
  const pageKey = queueKey(namespace, name, pages.first);
  if (!snapshot.has(pageKey)) return { needs: [key, pageKey] };
  const page = decodePage(pageKey, snapshot.get(pageKey));
  return { writes: [], outcome: statusOf(scene, record, [...record.queue, ...page.tickets]) };
}

/** The status that one listed record gives; its queue shows what the record itself holds. */
export function statusOfRecord(
  key: RecordKey,
  value: Json,
  scene: { readonly now: EpochMs; readonly clockErrorMs: DurationMs },
): LockStatus {
  const record = decodeLock(key, value);
  return statusOf({ ...scene, name: key[2] as string }, record, record.queue);
}

interface Scene {
  readonly now: EpochMs;
  readonly clockErrorMs: DurationMs;
  readonly name: string;
}

function statusOf(
  scene: Scene,
  record: LockRecord | undefined,
  tickets: readonly Ticket[],
): LockStatus {
  const { now, clockErrorMs, name } = scene;
  const grants = record?.grants ?? [];
  const live = grants.filter((grant) => isLive(scene, grant));
  return {
    name,
    state: stateOf(scene, grants, live),
    mode: live.length === 0 ? null : modeOf(live),
    token: live.at(-1)?.token ?? 0,
    counter: record?.counter ?? 0,
    holders: grants.map((grant) => holderView({ now, scope: { clockErrorMs } }, grant)),
    depth: (record?.queue.length ?? 0) + (record?.pages?.depth ?? 0),
    queue: tickets.slice(0, queueShownMax).map((ticket, position) => ({
      position,
      owner: ticket.owner,
      mode: ticket.mode,
      since: ticket.enqueuedAt,
    })),
    ...(record?.limit === undefined ? {} : { limit: record.limit }),
    now,
    authoritative: false,
  };
}

function isLive({ now, clockErrorMs }: Scene, grant: Grant): boolean {
  return grant.forced === undefined && now < endForOthers(grant, clockErrorMs);
}

function modeOf(live: readonly Grant[]): "exclusive" | "shared" {
  return live.some((grant) => grant.mode === "exclusive") ? "exclusive" : "shared";
}

function stateOf(scene: Scene, grants: readonly Grant[], live: readonly Grant[]): LockState {
  if (live.length > 0) {
    if (live.every((grant) => grant.state === "pending")) return "pending";
    if (live.some((grant) => grant.kind === "claim")) return "claimed";
    return modeOf(live) === "exclusive" ? "held" : "shared";
  }
  if (grants.length === 0) return "free";
  const isDelayed = grants.some((grant) => scene.now < blocksUntil(grant, scene.clockErrorMs));
  return isDelayed ? "delayed" : "lapsed";
}
