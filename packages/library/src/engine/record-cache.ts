import type { Json } from "../core/scalars.ts";

/** A record as it was last seen, or as an earlier decision of the same batch left it. */
export interface RecordEntry {
  /** `undefined` where the record is absent. */
  readonly value: Json | undefined;
  /** Above 0 as stored; 0 when absent; below 0 when written by an earlier unit of the batch. */
  revision: number;
  /** Length of the stored text in characters, for the bound of the cache. */
  readonly size: number;
}

export interface RecordCacheBounds {
  readonly entriesMax: number;
  readonly sizeMax: number;
}

/**
 * The records last seen, bounded in number and in size, least recently used first to go.
 *
 * Two generations stand for the order of use: what is touched moves to the young one, and when that
 * holds half of the bound the old one is dropped. It is never trusted: every commit compares
 * revisions. Absent records are not kept, because an unknown record is guessed to be absent.
 */
export class RecordCache {
  readonly #halfEntries: number;
  readonly #halfSize: number;
  #young = new Map<string, RecordEntry>();
  #old = new Map<string, RecordEntry>();
  #youngSize = 0;

  constructor(bounds: RecordCacheBounds) {
    this.#halfEntries = Math.max(1, bounds.entriesMax / 2);
    this.#halfSize = bounds.sizeMax / 2;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: string): RecordEntry | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.#add(key, old);
    return old;
  }

  set(key: string, entry: RecordEntry): void {
    if (this.#old.size > 0) this.#old.delete(key);
    const before = this.#young.get(key);
    if (before !== undefined) this.#youngSize -= before.size;
    this.#add(key, entry);
  }

  delete(key: string): void {
    this.#old.delete(key);
    const before = this.#young.get(key);
    if (before === undefined) return;
    this.#young.delete(key);
    this.#youngSize -= before.size;
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#youngSize = 0;
  }

  #add(key: string, entry: RecordEntry): void {
    this.#young.set(key, entry);
    this.#youngSize += entry.size;
    if (this.#young.size < this.#halfEntries && this.#youngSize < this.#halfSize) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngSize = 0;
  }
}
