import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { isNeeds, type Decide, type Decided, type Snapshot } from "../../src/core/decision.ts";
import { encodeKey, type RecordKey } from "../../src/core/key.ts";
import type { LockRecord, PageRecord } from "../../src/core/lock/record.ts";
import type { EpochMs, Json } from "../../src/core/scalars.ts";

/** Most rounds of `needs` that a decision of these tests may take. */
const roundsMax = 300;

/** A stored record, and how often its key was written: a revision stands for one content. */
interface Stored {
  readonly value: Json;
  readonly revision: number;
}

/** What a decision read and made, before it is committed. */
export interface Prepared<Outcome> {
  readonly decided: Decided<Outcome>;
  /** Stored keys that were read, in the order in which they were asked for. */
  readonly reads: readonly string[];
  readonly revisions: readonly number[];
}

/**
 * The smallest world in which decisions can be made: a map of records and a clock that is set.
 *
 * Each decision runs twice on the same deep-frozen snapshot, so that impurity and mutation of its
 * input show at once (I30); the writes are checked against the contract of `Decision`.
 */
export class TestStore {
  now: EpochMs = 1_700_000_000_000;
  readonly #records = new Map<string, Stored>();
  #revision = 0;
  /** Number of commits that wrote anything. */
  commits = 0;
  /** What the last decision read, wrote and hinted, as stored keys. */
  reads: readonly string[] = [];
  written: readonly string[] = [];
  hints: readonly string[] = [];
  validUntil: EpochMs | undefined;
  bytesWritten = 0;

  /** Runs a decision without committing it. */
  prepare<Outcome>(decide: Decide<Outcome>): Prepared<Outcome> {
    const reads: string[] = [];
    for (let round = 0; round < roundsMax; round += 1) {
      const snapshot = this.#snapshotOf(new Set(reads));
      const decision = decide(snapshot);
      assert.ok(isDeepStrictEqual(decide(snapshot), decision), "the same snapshot decides alike");
      if (!isNeeds(decision)) {
        const revisions = reads.map((key) => this.revisionOf(key));
        checkWrites(decision, reads, this.now);
        return { decided: decision, reads, revisions };
      }
      const fresh = decision.needs.map(encodeKey).filter((key) => !reads.includes(key));
      assert.ok(fresh.length > 0, "needs ask for a record that was not read");
      reads.push(...fresh);
    }
    throw new Error(`a decision asked in more than ${roundsMax} rounds`);
  }

  /** Commits what was prepared; false when a record that it read has changed since. */
  commit<Outcome>(prepared: Prepared<Outcome>): boolean {
    const { decided, reads, revisions } = prepared;
    if (reads.some((key, place) => this.revisionOf(key) !== revisions[place])) return false;
    if (decided.validUntil !== undefined && this.now >= decided.validUntil) return false;
    for (const { key, value } of decided.writes) this.put(key, value);
    if (decided.writes.length > 0) this.commits += 1;
    this.reads = reads;
    this.written = decided.writes.map(({ key }) => encodeKey(key));
    this.hints = (decided.hints ?? []).map(encodeKey);
    this.validUntil = decided.validUntil;
    this.bytesWritten = decided.writes
      .map(({ value }) => (value === null ? 0 : JSON.stringify(value).length))
      .reduce((sum, size) => sum + size, 0);
    return true;
  }

  /** Decides and commits; gives the outcome. */
  apply<Outcome>(decide: Decide<Outcome>): Outcome {
    const prepared = this.prepare(decide);
    assert.ok(this.commit(prepared), "a decision is valid at the time it was made");
    return prepared.decided.outcome;
  }

  put(key: RecordKey, value: Json | null): void {
    const text = encodeKey(key);
    this.#revision += 1;
    if (value === null) this.#records.delete(text);
    else this.#records.set(text, { value: deepFreeze(value), revision: this.#revision });
  }

  get(key: RecordKey): Json | undefined {
    return this.#records.get(encodeKey(key))?.value;
  }

  revisionOf(storedKey: string): number {
    return this.#records.get(storedKey)?.revision ?? 0;
  }

  /** All records as one text, to show that nothing has changed. */
  text(): string {
    return JSON.stringify([...this.#records].toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  keys(kind: string): readonly string[] {
    return [...this.#records.keys()].filter((key) => key.startsWith(`${kind}/`));
  }

  lock(name = "a"): LockRecord {
    return this.get(["lock", "ns", name]) as unknown as LockRecord;
  }

  page(number: number, name = "a"): PageRecord | undefined {
    const key = ["queue", "ns", name, String(number).padStart(16, "0")];
    return this.get(key) as unknown as PageRecord | undefined;
  }

  #snapshotOf(known: ReadonlySet<string>): Snapshot {
    return {
      now: this.now,
      has: (key) => known.has(encodeKey(key)),
      get: (key) => (known.has(encodeKey(key)) ? this.get(key) : undefined),
    };
  }
}

/** What the contract of a decision asks of its writes, and the invariants of one record. */
function checkWrites(decided: Decided<unknown>, reads: readonly string[], now: EpochMs): void {
  const keys = decided.writes.map(({ key }) => encodeKey(key));
  assert.equal(new Set(keys).size, keys.length, "no record is written twice");
  for (const { key, value } of decided.writes) {
    assert.ok(reads.includes(encodeKey(key)), `${encodeKey(key)} was read before it is written`);
    assert.deepEqual(JSON.parse(JSON.stringify(value)), value, "stored values are plain JSON");
    if (key[0] === "lock" && value !== null) checkLock(value as unknown as LockRecord, now);
  }
}

/** I1 and I3 inside one record, I31 for its ends, and the order of its tickets. */
function checkLock(record: LockRecord, now: EpochMs): void {
  let token = 0;
  for (const grant of record.grants) {
    assert.ok(grant.token > token, "grants stand in token order [I1]");
    token = grant.token;
    assert.ok(grant.token <= record.counter, "the counter is at least every token [I3]");
    assert.ok(grant.expiresAt <= now + grant.spanMs, "no end is beyond its span [I31]");
  }
  let number = 0;
  for (const ticket of record.queue) {
    assert.ok(ticket.number < record.nextTicket, "numbers are given once");
    // A wish to upgrade stands before all, whatever its number.
    if (ticket.upgrades !== undefined) continue;
    assert.ok(ticket.number > number, "tickets stand in number order");
    number = ticket.number;
  }
  assert.ok(record.ended.length <= 4, "at most four ended attempts are remembered");
}

function deepFreeze<Value extends Json>(value: Value): Value {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
