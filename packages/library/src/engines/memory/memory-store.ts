import type { EpochMs } from "../../core/scalars.ts";
import type { HintBoard } from "../../engine/hint-board.ts";
import { compareStoredKeys } from "../../engine/key-range.ts";
import type { KeyRange } from "../../engine/key-range.ts";
import type { RecordEntry } from "../../engine/record-cache.ts";
import type { Clock } from "../../time/clock.ts";

export interface MemoryStoreOptions {
  /**
   * Gives engine time: its calendar time at the making of the store, and what has elapsed since.
   */
  readonly clock: Clock;
}

/** A store in this process, to be shared by any number of engines. Made by `createMemoryStore`. */
export class MemoryStore {
  readonly clock: Clock;
  /** The watchers of every engine on this store. */
  readonly boards: Set<HintBoard> = new Set();
  readonly #records = new Map<string, RecordEntry>();
  readonly #originMs: number;
  /** Stored keys in order; those of deleted records stay until they are many. */
  #sorted: string[] = [];
  /** Keys that came since the list was sorted. */
  #fresh: string[] = [];
  #revision = 0;

  constructor(clock: Clock) {
    this.clock = clock;
    this.#originMs = clock.wallMs() - clock.monotonicMs();
  }

  /** Setting the calendar moves nothing: only the monotonic clock is read. */
  now(): EpochMs {
    return Math.floor(this.#originMs + this.clock.monotonicMs());
  }

  /** The record as stored; part of the `RecordSource` that decisions read. */
  entry(storedKey: string): RecordEntry | undefined {
    return this.#records.get(storedKey);
  }

  /** A revision that no commit has had before. */
  nextRevision(): number {
    this.#revision += 1;
    return this.#revision;
  }

  get isWatched(): boolean {
    for (const board of this.boards) if (board.isWatched) return true;
    return false;
  }

  /** Tells the watchers of every engine. */
  publish(storedKey: string): void {
    for (const board of this.boards) board.publish(storedKey);
  }

  put(storedKey: string, entry: RecordEntry): void {
    if (!this.#records.has(storedKey)) this.#fresh.push(storedKey);
    this.#records.set(storedKey, entry);
  }

  delete(storedKey: string): void {
    this.#records.delete(storedKey);
  }

  /** The rows of a range in the order of their keys. */
  *rows(range: KeyRange): Generator<{ readonly key: string; readonly entry: RecordEntry }> {
    const sorted = this.#inOrder();
    const from = compareStoredKeys(range.from, range.after) > 0 ? range.from : range.after;
    let left = range.limit;
    for (let i = placeIn(sorted, from); i < sorted.length && left > 0; i += 1) {
      const key = sorted[i] as string;
      if (range.before !== undefined && compareStoredKeys(key, range.before) >= 0) return;
      const entry = this.#records.get(key);
      if (entry === undefined || key === range.after) continue;
      left -= 1;
      yield { key, entry };
    }
  }

  #inOrder(): readonly string[] {
    const isSparse = this.#sorted.length > 2 * this.#records.size + 64;
    if (this.#fresh.length === 0 && !isSparse) return this.#sorted;
    const fresh = this.#fresh.toSorted(compareStoredKeys);
    this.#fresh = [];
    this.#sorted = merge(this.#sorted, fresh, (key) => this.#records.has(key));
    return this.#sorted;
  }
}

/** A new, empty store. */
export function createMemoryStore(options: MemoryStoreOptions): MemoryStore {
  return new MemoryStore(options.clock);
}

function placeIn(sorted: readonly string[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareStoredKeys(sorted[middle] as string, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Both lists in order, each key once, without the keys of deleted records. */
function merge(
  left: readonly string[],
  right: readonly string[],
  isStored: (key: string) => boolean,
): string[] {
  const merged: string[] = [];
  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    const a = left[l];
    const b = right[r];
    const takesLeft = b === undefined || (a !== undefined && compareStoredKeys(a, b) <= 0);
    const key = (takesLeft ? a : b) as string;
    if (takesLeft) l += 1;
    else r += 1;
    if (merged.at(-1) !== key && isStored(key)) merged.push(key);
  }
  return merged;
}
