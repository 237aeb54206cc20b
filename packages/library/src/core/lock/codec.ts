import { RecordCorruptError } from "../../errors.ts";
import { encodeKey, isJsonObject, type RecordKey } from "../key.ts";
import type { Json } from "../scalars.ts";
import type {
  AuditRecord,
  BatchRecord,
  FloorRecord,
  Grant,
  LockRecord,
  PageRecord,
  PresenceRecord,
} from "./record.ts";

/**
 * Readers of stored records. They check what decisions rely on and leave the rest as it is.
 *
 * A record that cannot be read, has no counter or is of an unknown version fails every decision on
 * it; a grant whose end is missing or no safe integer counts as long over (L118).
 */

/** The format version that is written and read. */
const formatVersion = 1;

export function decodeLock(key: RecordKey, value: Json): LockRecord {
  const record = checkedObject(key, value);
  checkInteger(key, record["counter"], "counter", 0);
  checkInteger(key, record["nextTicket"], "nextTicket", 1);
  for (const list of ["grants", "queue", "ended"]) {
    const entries = record[list];
    if (!Array.isArray(entries) || !entries.every(isJsonObject)) {
      throw corrupt(key, `${list} is not a list of objects`);
    }
  }
  const lock = record as unknown as LockRecord;
  return lock.grants.every(hasEnd) ? lock : { ...lock, grants: lock.grants.map(withEnd) };
}

export function decodePage(key: RecordKey, value: Json | undefined): PageRecord {
  if (value === undefined) return { v: formatVersion, tickets: [] };
  const record = checkedObject(key, value);
  if (!Array.isArray(record["tickets"])) throw corrupt(key, "tickets is not a list");
  return record as unknown as PageRecord;
}

/** The parts of a waiting batch; undefined when its record is gone. */
export function decodeBatch(key: RecordKey, value: Json | undefined): BatchRecord | undefined {
  if (value === undefined) return undefined;
  const record = checkedObject(key, value);
  const { items } = record;
  if (!Array.isArray(items) || !items.every(isJsonObject)) {
    throw corrupt(key, "items is not a list of objects");
  }
  return record as unknown as BatchRecord;
}

/** The floor; 0 while no record of it exists. */
export function decodeFloor(key: RecordKey, value: Json | undefined): number {
  if (value === undefined) return 0;
  const record = checkedObject(key, value);
  checkInteger(key, record["floor"], "floor", 0);
  return (record as unknown as FloorRecord).floor;
}

export function decodePresence(
  key: RecordKey,
  value: Json | undefined,
): PresenceRecord | undefined {
  if (value === undefined) return undefined;
  const record = checkedObject(key, value);
  checkInteger(key, record["aliveUntil"], "aliveUntil", 0);
  checkInteger(key, record["spanMs"], "spanMs", 0);
  return record as unknown as PresenceRecord;
}

/** The agreed clock bound in ms; undefined while nobody has written it. */
export function decodeClock(key: RecordKey, value: Json | undefined): number | undefined {
  if (value === undefined) return undefined;
  const record = checkedObject(key, value);
  checkInteger(key, record["errorMs"], "errorMs", 0);
  return record["errorMs"] as number;
}

/** Engine time at which the last sweep began; 0 while none did. */
export function decodeSweepTurn(key: RecordKey, value: Json | undefined): number {
  if (value === undefined) return 0;
  const record = checkedObject(key, value);
  checkInteger(key, record["at"], "at", 0);
  return record["at"] as number;
}

export function decodeAudit(key: RecordKey, value: Json): AuditRecord {
  const record = checkedObject(key, value);
  checkInteger(key, record["at"], "at", 0);
  checkInteger(key, record["token"], "token", 0);
  return record as unknown as AuditRecord;
}

function checkedObject(key: RecordKey, value: Json): { readonly [member: string]: Json } {
  if (!isJsonObject(value)) throw corrupt(key, "it is not a JSON object");
  if (value["v"] !== formatVersion) {
    throw corrupt(
      key,
      `its format version is ${JSON.stringify(value["v"])}, known is ${formatVersion}`,
    );
  }
  return value;
}

function checkInteger(key: RecordKey, value: unknown, member: string, least: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least) return;
  throw corrupt(key, `${member} is not an integer from ${least} on`);
}

function hasEnd(grant: Grant): boolean {
  return Number.isSafeInteger(grant.expiresAt);
}

function withEnd(grant: Grant): Grant {
  return hasEnd(grant) ? grant : { ...grant, expiresAt: 0, spanMs: 0, lockDelayMs: 0 };
}

function corrupt(key: RecordKey, problem: string): RecordCorruptError {
  return new RecordCorruptError(encodeKey(key), problem);
}
