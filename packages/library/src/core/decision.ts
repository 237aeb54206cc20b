import type { RecordKey } from "./key.ts";
import type { EpochMs, Json } from "./scalars.ts";

/**
 * What a decision sees: the records it asked for, and the engine's time.
 *
 * `get` gives `undefined` for a record that is absent. A key for which `has` is false was not read;
 * a decision that wants it answers {@link Needs}. A stored text that is no JSON is given as a
 * string.
 */
export interface Snapshot {
  readonly now: EpochMs;
  has(key: RecordKey): boolean;
  get(key: RecordKey): Json | undefined;
}

/** One record to store; `value: null` deletes it. Every written key must have been read. */
export interface Write {
  readonly key: RecordKey;
  readonly value: Json | null;
}

/** The decision cannot be made yet: run it again with these records, too. */
export interface Needs {
  readonly needs: readonly RecordKey[];
}

/** A decision made: the writes and the outcome become true together, or not at all. */
export interface Decided<Outcome> {
  readonly writes: readonly Write[];
  readonly outcome: Outcome;
  /**
   * The earliest end that the decision relied on as not yet over. The commit is refused as a
   * conflict once engine time has reached it (docs/spec/locks.md section 8).
   */
  readonly validUntil?: EpochMs;
  /** Keys whose watchers are told of the commit although the keys themselves are not written. */
  readonly hints?: readonly RecordKey[];
}

export type Decision<Outcome> = Decided<Outcome> | Needs;

/**
 * A pure, synchronous function; an engine may run it any number of times before it commits once.
 */
export type Decide<Outcome> = (snapshot: Snapshot) => Decision<Outcome>;

export function isNeeds<Outcome>(decision: Decision<Outcome>): decision is Needs {
  return "needs" in decision;
}
