import type { RecordKey } from "../core/key.ts";
import { decodeAudit } from "../core/lock/codec.ts";
import { auditKinds, type AuditKind, type AuditRecord } from "../core/lock/record.ts";
import type { LockScope } from "../core/lock/scope.ts";
import { checkName } from "../core/name.ts";
import { InvalidArgumentError } from "../errors.ts";
import { checkInteger, checkOneOf, checkSignal, orDefault } from "./argument-checks.ts";
import type { EngineCalls } from "./engine-calls.ts";
import type { HistoryEntry, HistoryOptions } from "./views-api.ts";

const entriesPerPage = 500;

/** Checks the options at once, and reads the audit page by page as the caller goes on. */
export function readHistory(
  { namespace, part = "lock" }: LockScope,
  calls: EngineCalls,
  options: HistoryOptions,
): AsyncIterable<HistoryEntry> {
  const name = options.name === undefined ? null : checkName("name", options.name);
  const bounds = { least: 0, most: Number.MAX_SAFE_INTEGER };
  const since = checkInteger("since", orDefault(options.since, 0), bounds);
  const wanted = checkKinds(orDefault(options.kinds, auditKinds));
  const signal = checkSignal(options.signal);
  const prefix = ["audit", namespace, part, ...(name === null ? [] : [name])];
  const isWanted = (entry: HistoryEntry): boolean =>
    entry.at >= since && wanted.includes(entry.kind);
  return entries(calls, prefix, isWanted, signal);
}

function checkKinds(value: unknown): readonly AuditKind[] {
  if (!Array.isArray(value)) throw new InvalidArgumentError("kinds", value, "must be a list");
  // A hole is a wrong entry, too, so the list is not mapped but spread.
  return [...value].map((kind: unknown) => checkOneOf("kinds", kind, auditKinds));
}

/** The entries by name, and by token within a name. */
async function* entries(
  calls: EngineCalls,
  prefix: RecordKey,
  isWanted: (entry: HistoryEntry) => boolean,
  signal: AbortSignal | undefined,
): AsyncGenerator<HistoryEntry> {
  let after: string | undefined;
  // Bounded by the audit records there are.
  do {
    // oxlint-disable-next-line no-await-in-loop -- each page begins where the one before ended
    const page = await calls.scan(prefix, { limit: entriesPerPage, after }, signal);
    const found = page.records.flatMap(({ key, value }) => entriesOf(decodeAudit(key, value)));
    yield* found.filter((entry) => isWanted(entry));
    after = page.next;
  } while (after !== undefined);
}

function entriesOf(record: AuditRecord): readonly HistoryEntry[] {
  const { v: _version, also, ...first } = record;
  const { at, name } = record;
  return [first, ...(also ?? []).map((entry) => ({ ...entry, at, name }))];
}
