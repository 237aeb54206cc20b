import { isNeeds, type Decision, type Needs, type Snapshot } from "../decision.ts";
import type { RecordKey } from "../key.ts";
import type { DurationMs, EpochMs, Json } from "../scalars.ts";
import { decodeLock, decodePage } from "./codec.ts";
import { holderView } from "./denial.ts";
import { lockKey, queueKey } from "./keys.ts";
import { pageTicketsMax, type Grant, type LockRecord, type Ticket } from "./record.ts";
import type { Part } from "./scope.ts";
import { blocksUntil, endForOthers } from "./validity.ts";
import { queueShownMax, type LockState, type LockStatus } from "./views.ts";

/** Pages of a queue that one status reads at most. */
const pagesReadMax = 128;

export interface StatusCommand {
  readonly namespace: string;
  readonly part?: Part | undefined;
  readonly name: string;
  readonly clockErrorMs: DurationMs;
}

/** What a lock looks like now. Writes nothing, grants nothing, reclaims nothing (L107). */
export function decideStatus(snapshot: Snapshot, command: StatusCommand): Decision<LockStatus> {
  const { namespace, name, part } = command;
  const key = lockKey(namespace, name, part);
  if (!snapshot.has(key)) return { needs: [key] };
  const value = snapshot.get(key);
  const scene = { now: snapshot.now, clockErrorMs: command.clockErrorMs, name };
  if (value === undefined) return { writes: [], outcome: statusOf(scene, undefined, []) };
  const record = decodeLock(key, value);
  const tickets = firstTickets(snapshot, command, record);
  if ("needs" in tickets) return { needs: [key, ...tickets.needs] };
  return { writes: [], outcome: statusOf(scene, record, tickets) };
}

/** The tickets of the record and of as many pages behind it as a status shows. */
function firstTickets(
  snapshot: Snapshot,
  { namespace, name, part }: StatusCommand,
  { queue, pages }: LockRecord,
): readonly Ticket[] | Needs {
  const tickets = [...queue];
  if (pages === undefined) return tickets;
  // Pages from which tickets have gone show less: more of them are read, up to the bound.
  const last = Math.min(pages.last, pages.first + pagesReadMax - 1);
  for (let page = pages.first; page <= last && tickets.length < queueShownMax; page += 1) {
    const key = queueKey(namespace, name, page, part);
    if (!snapshot.has(key)) {
      const missing = Math.ceil((queueShownMax - tickets.length) / pageTicketsMax);
      const count = Math.min(missing, last - page + 1);
      return {
        needs: Array.from({ length: count }, (_, i) => queueKey(namespace, name, page + i, part)),
      };
    }
    tickets.push(...decodePage(key, snapshot.get(key)).tickets);
  }
  return tickets;
}

/** A lock as it looks, and when at the earliest its present holders keep nobody out any more. */
export interface LockOutlook {
  readonly status: LockStatus;
  /** Lock-delays counted; null when nobody is kept out by a holder. */
  readonly until: EpochMs | null;
}

/** The status and its end; writes nothing, like {@link decideStatus}. */
export function decideOutlook(snapshot: Snapshot, command: StatusCommand): Decision<LockOutlook> {
  const decision = decideStatus(snapshot, command);
  if (isNeeds(decision)) return decision;
  const key = lockKey(command.namespace, command.name, command.part);
  const value = snapshot.get(key);
  const grants = value === undefined ? [] : decodeLock(key, value).grants;
  const ends = grants
    .map((grant) => blocksUntil(grant, command.clockErrorMs))
    .filter((end) => snapshot.now < end);
  const until = ends.length === 0 ? null : Math.max(...ends);
  return { writes: [], outcome: { status: decision.outcome, until } };
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
