import { encodeKey, orderedNumber } from "../core/key.ts";
import { decodeAudit } from "../core/lock/codec.ts";
import type { LostResult } from "../core/lock/renew.ts";
import type { Actor, AuditEntry, AuditKind, AuditRecord } from "../core/lock/record.ts";
import type { LossReason } from "../errors.ts";
import type { LeaseHost } from "./lease-host.ts";

/** Why a lease is lost, as its holder is told (L39). */
export interface Loss {
  readonly reason: LossReason;
  readonly by?: string | undefined;
  readonly why?: string | undefined;
}

/** Audit records that are read at most to find out how a lease ended. */
const auditsReadMax = 1_000;

/** The loss that a renewal's answer tells of; undefined when the record does not say. */
export function lossOf(result: LostResult): Loss | undefined {
  if (result.how === null) return undefined;
  return {
    reason: reasonOf(result.how),
    by: result.by === undefined ? undefined : showActor(result.by),
    why: result.reason,
  };
}

/** Looks for the end of a grant in the audit; `missing` when nothing is found there. */
export async function findEnd(
  { context, calls }: Pick<LeaseHost, "context" | "calls">,
  name: string,
  token: number,
): Promise<Loss> {
  const { scope } = context;
  try {
    const prefix = ["audit", scope.namespace, "lock", name];
    // One record may tell of several ends, under the key of the lowest token (L112).
    // Its own records first: with all changes recorded, a thousand may lie between.
    const near = [...prefix, orderedNumber(token)];
    const own = await calls.scan(near, { limit: auditsReadMax });
    const from = orderedNumber(Math.max(0, token - scope.holdersMax));
    const request = { limit: auditsReadMax, after: encodeKey([...prefix, from]) };
    const isOwn = own.records.some(({ key, value }) => isTold(decodeAudit(key, value), token));
    const page = isOwn ? own : await calls.scan(prefix, request);
    for (const { key, value } of page.records) {
      const record = decodeAudit(key, value);
      const entry = endIn(record, token);
      if (entry === undefined) continue;
      const by = entry.by === undefined ? undefined : showActor(entry.by);
      return { reason: reasonOf(entry.kind), by, why: entry.reason };
    }
  } catch (error) {
    context.events.fail(error, "looking for the end of a lease");
  }
  return { reason: "missing" };
}

export function showActor(actor: Actor): string {
  return `${actor.app === undefined ? "" : `${actor.app} at `}${actor.host}/${actor.pid}`;
}

function endIn(record: AuditRecord, token: number): AuditEntry | undefined {
  return [record, ...(record.also ?? [])].find((each) => isEndOf(each, token));
}

function isTold(record: AuditRecord, token: number): boolean {
  return endIn(record, token) !== undefined;
}

const isNoEnd: ReadonlySet<AuditKind> = new Set([
  "granted",
  "claimed",
  "resumed",
  "upgraded",
  "downgraded",
  "raised",
  "resized",
]);

function isEndOf(entry: AuditEntry, token: number): boolean {
  return entry.token === token && !isNoEnd.has(entry.kind);
}

function reasonOf(how: string): LossReason {
  switch (how) {
    case "superseded":
    case "forced":
    case "withdrawn":
    case "missing":
    case "released":
      return how;
    case "cancelled":
      return "released";
    default:
      return "expired";
  }
}
