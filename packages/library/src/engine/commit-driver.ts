import type { EpochMs, DurationMs } from "../core/scalars.ts";
import type { Capabilities } from "./contract.ts";
import type { KeyRange } from "./key-range.ts";

/**
 * One decision on its way to the store: what it read, what it writes. All or nothing for itself.
 *
 * `readRevisions[i]` belongs to `readKeys[i]`: 0 means absent, a number above 0 is the revision
 * that must still be stored, and `-1 - u` means "as unit `u` of the same batch left it", which
 * holds when that unit was committed.
 */
export interface CommitUnit {
  readonly readKeys: readonly string[];
  readonly readRevisions: readonly number[];
  readonly writeKeys: readonly string[];
  /** The text to store under the key of the same place; null deletes the record. */
  readonly writeTexts: readonly (string | null)[];
  /** Stored forms of the keys to be announced besides those written. */
  readonly hintKeys: readonly string[];
  /** The `now` that the decision was given. */
  readonly decidedAt: EpochMs;
  /** Engine time at which the decision is void; `Infinity` when it relied on no end. */
  readonly validUntil: EpochMs;
}

/** A record as the store holds it; `text: null` and revision 0 when absent. */
export interface FoundRecord {
  readonly text: string | null;
  readonly revision: number;
}

/**
 * What became of one unit.
 *
 * - a number: committed; all its writes have this revision, which no other content of any of these
 *   keys ever had or will have. A unit without writes: its reads held at one instant.
 * - a list: conflict; what the store holds for each read key, or nothing when the unit only fell
 *   with the earlier unit whose write it had read.
 * - an error: this unit alone is refused for good.
 */
export type UnitResult = number | readonly FoundRecord[] | Error;

export interface StoredRow {
  readonly key: string;
  readonly text: string;
}

/**
 * What an engine has to bring for {@link GroupCommit}: atomic compare-and-set, nothing of locks.
 *
 * Any method may throw or reject with `EngineUnavailableError`; then nothing of the batch is stored
 * (`none`), or it is not known (`unknown`).
 */
export interface CommitDriver {
  readonly capabilities: Capabilities;
  /** Engine time now, or the lower end of what it may be. Never goes back. */
  now(): EpochMs;
  /**
   * Commits the units in their order, each alone all or nothing. Called again only after the call
   * before has settled. A unit whose `validUntil` has come by the clock of the commit, or whose
   * `decidedAt` lies ahead of it, is a conflict. Gives up a store that is busy after `patienceMs`.
   */
  commit(
    units: readonly CommitUnit[],
    patienceMs: DurationMs,
  ): readonly UnitResult[] | Promise<readonly UnitResult[]>;
  /** Rows of the range in the order of their keys, at most `range.limit`. */
  scan(range: KeyRange, patienceMs: DurationMs): Promise<readonly StoredRow[]>;
  /**
   * Starts to listen for commits of other processes on keys that begin with `prefix`, and calls
   * `notify` with the stored key or prefix that may have changed. Returns how to stop.
   */
  listen?(prefix: string, notify: (key: string) => void): () => void;
  close(): Promise<void>;
}
