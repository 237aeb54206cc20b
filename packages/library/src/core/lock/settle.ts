import type { Decided, Decision, Needs, Write } from "../decision.ts";
import type { RecordKey } from "../key.ts";
import type { Json } from "../scalars.ts";
import { auditRecordOf } from "./audit.ts";
import type { DecisionDraft, LockDraft } from "./draft.ts";
import { queueKey } from "./keys.ts";
import type { Outcome } from "./outcome.ts";
import { refill } from "./queue.ts";
import { endedKeptMs, type LockRecord, type Ticket } from "./record.ts";

/**
 * Ends a decision: tops the records' parts of the queues up, where they changed, and makes the
 * writes. Asks for the keys of pages and audit records that it must have read for them.
 */
export function finish<Result>(
  { decision }: { readonly decision: DecisionDraft },
  result: Result,
): Decision<Outcome<Result>> {
  const missing: RecordKey[] = [];
  const writes: Write[] = [];
  for (const lock of decision.locks) {
    const needs = lock.hasChanged ? refill(lock) : undefined;
    const made = needs ?? writesOf(lock);
    if ("needs" in made) missing.push(...made.needs);
    else writes.push(...made);
  }
  if (missing.length > 0) return { needs: missing };
  writes.push(...decision.writes);
  const { now, effects, leftOver, validUntil, hints } = decision;
  const outcome: Outcome<Result> = { now, result, effects, more: leftOver.length > 0, leftOver };
  const decided: {
    -readonly [Member in keyof Decided<Outcome<Result>>]: Decided<Outcome<Result>>[Member];
  } = { writes, outcome };
  if (validUntil !== undefined) decided.validUntil = validUntil;
  if (hints !== undefined) decided.hints = hints;
  return decided;
}

/** What the commit stores of one lock; asks for the key of its audit record. */
function writesOf(lock: LockDraft): readonly Write[] | Needs {
  const [first, ...also] = lock.audits ?? [];
  const audit = first === undefined ? undefined : auditRecordOf(lock, first, also);
  if (audit !== undefined && !lock.snapshot.has(audit.key)) return { needs: [audit.key] };
  const writes: Write[] = audit === undefined ? [] : [audit];
  if (lock.hasChanged) writes.push({ key: lock.key, value: recordOf(lock) });
  for (const [page, tickets] of lock.pageWrites) writes.push(pageWrite(lock, page, tickets));
  return writes;
}

/** The write of a changed page of the queue; an empty page is deleted. */
function pageWrite({ scope, name }: LockDraft, page: number, tickets: readonly Ticket[]): Write {
  const key = queueKey(scope.namespace, name, page, scope.part);
  const value = tickets.length === 0 ? null : ({ v: 1, tickets } as unknown as Json);
  return { key, value };
}

/** The record to store, member by member: this runs once in every decision that writes. */
function recordOf(lock: LockDraft): Json {
  const { ended, now, pages, limit } = lock;
  const oldest = now - endedKeptMs;
  const isAnyOld = ended.some((entry) => entry.at <= oldest);
  const record: { -readonly [Member in keyof LockRecord]: LockRecord[Member] } = {
    v: 1,
    counter: lock.counter,
    nextTicket: lock.nextTicket,
    grants: lock.grants,
    queue: lock.queue,
    ended: isAnyOld ? ended.filter((entry) => entry.at > oldest) : ended,
    touchedAt: now,
  };
  if (pages !== undefined) record.pages = pages;
  if (limit !== undefined) record.limit = limit;
  return record as unknown as Json;
}
