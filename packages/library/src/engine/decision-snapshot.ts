import type { Decide, Decided, Snapshot } from "../core/decision.ts";
import { encodeKey } from "../core/key.ts";
import type { RecordKey } from "../core/key.ts";
import type { EpochMs, Json } from "../core/scalars.ts";
import { EngineUnavailableError, InvalidArgumentError } from "../errors.ts";
import { needsRoundsMax } from "./contract.ts";
import type { Capabilities } from "./contract.ts";
import type { RecordEntry } from "./record-cache.ts";

/** Where a snapshot takes its records from; `undefined` for one that is absent or not known. */
export interface RecordSource {
  entry(storedKey: string): RecordEntry | undefined;
}

/** Up to this many records a walk over them is quicker than an index. */
const walkMax = 8;

/** The records of one decision, in the order in which they were asked for. */
export class DecisionSnapshot implements Snapshot {
  now: EpochMs = 0;
  readonly storedKeys: string[] = [];
  readonly entries: (RecordEntry | undefined)[] = [];
  readonly #keys: RecordKey[] = [];
  #index: Map<string, number> | undefined;

  has(key: RecordKey): boolean {
    return this.placeOf(key) >= 0;
  }

  get(key: RecordKey): Json | undefined {
    const place = this.placeOf(key);
    return place < 0 ? undefined : this.entries[place]?.value;
  }

  get size(): number {
    return this.storedKeys.length;
  }

  /** The place of a key, -1 when it was not read. Keys are mostly handed back as they came. */
  placeOf(key: RecordKey): number {
    const keys = this.#keys;
    const walked = Math.min(keys.length, walkMax);
    for (let i = 0; i < walked; i += 1) if (keys[i] === key) return i;
    const storedKey = encodeKey(key);
    if (keys.length > walkMax) return this.#indexed().get(storedKey) ?? -1;
    return this.storedKeys.indexOf(storedKey);
  }

  /** Adds the keys that are not there yet and returns how many they were. */
  add(keys: readonly RecordKey[]): number {
    const before = this.storedKeys.length;
    for (const key of keys) {
      const storedKey = encodeKey(key);
      if (this.#isKnown(storedKey)) continue;
      this.#index?.set(storedKey, this.storedKeys.length);
      this.storedKeys.push(storedKey);
      this.#keys.push(key);
    }
    return this.storedKeys.length - before;
  }

  /** Takes the entries from `start` on from the source. */
  load(source: RecordSource, start: number): void {
    for (let i = start; i < this.storedKeys.length; i += 1) {
      this.entries[i] = source.entry(this.storedKeys[i] as string);
    }
  }

  /**
   * Forgets the records that were added after the first `count`, so that a decision starts anew.
   */
  shrinkTo(count: number): void {
    this.storedKeys.length = count;
    this.#keys.length = count;
    this.entries.length = count;
    this.#index = undefined;
  }

  #isKnown(storedKey: string): boolean {
    if (this.storedKeys.length <= walkMax) return this.storedKeys.includes(storedKey);
    return this.#indexed().has(storedKey);
  }

  #indexed(): Map<string, number> {
    this.#index ??= new Map(this.storedKeys.map((storedKey, place) => [storedKey, place]));
    return this.#index;
  }
}

/** Runs `decide`, widening the snapshot as it asks, until it has decided. */
export function decideWidening<Outcome>(
  snapshot: DecisionSnapshot,
  decide: Decide<Outcome>,
  source: RecordSource,
  capabilities: Capabilities,
): Decided<Outcome> {
  for (let round = 0; round <= needsRoundsMax; round += 1) {
    const decision = decide(snapshot);
    if (!("needs" in decision)) return decision;
    const before = snapshot.size;
    if (snapshot.add(decision.needs) === 0) {
      throw new InvalidArgumentError("decide", decide, "asked for no record that it did not have");
    }
    if (snapshot.size > capabilities.keysPerCommitMax) {
      const asked = snapshot.size;
      snapshot.shrinkTo(before);
      assertKeyCount(asked, capabilities);
    }
    snapshot.load(source, before);
  }
  throw new InvalidArgumentError("decide", decide, `asked in more than ${needsRoundsMax} rounds`);
}

/** Refuses a decision over more records than the engine commits at once. */
export function assertKeyCount(count: number, capabilities: Capabilities): void {
  const { engine, keysPerCommitMax } = capabilities;
  if (count <= keysPerCommitMax) return;
  const what = `it commits at most ${keysPerCommitMax} records at once, and ${count} were asked`;
  throw new EngineUnavailableError(engine, what, { outcome: "none", isTransient: false });
}

/**
 * The place of a record to be written; one that was not read cannot be compared, so it is refused.
 */
export function placeOfWrite(snapshot: DecisionSnapshot, key: RecordKey): number {
  const place = snapshot.placeOf(key);
  if (place >= 0) return place;
  throw new InvalidArgumentError("decision.writes", encodeKey(key), "must be read before");
}

/** Refuses a decision that writes one record twice: which write counts could not be told. */
export function assertDistinct(storedKeys: readonly string[]): void {
  if (storedKeys.length < 2 || new Set(storedKeys).size === storedKeys.length) return;
  const twice = storedKeys.find((key, place) => storedKeys.indexOf(key) !== place);
  throw new InvalidArgumentError("decision.writes", twice, "must not be written twice at once");
}
