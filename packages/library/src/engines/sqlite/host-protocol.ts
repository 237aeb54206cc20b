import type { MessagePort } from "node:worker_threads";

import type { DurationMs } from "../../core/scalars.ts";
import type { CommitUnit, StoredRow, UnitResult } from "../../engine/commit-driver.ts";
import type { KeyRange } from "../../engine/key-range.ts";
import type { SqliteFailure } from "./sqlite-failure.ts";

export interface HostOptions {
  readonly path: string;
  readonly bellFolder: string;
  /** Whether a missing folder of the file is made. */
  readonly createFolder: boolean;
  /** Longest time that this thread may be blocked by a busy store. */
  readonly blockMsMax: DurationMs;
}

/** What the side that decides must know of an open store. */
export interface Opened {
  /** Counts the openings; what was decided under another one is decided again. */
  readonly generation: number;
  /** Engine time at the zero of the host's monotonic clock. */
  readonly originMs: number;
}

export interface CommitRequest {
  readonly generation: number;
  readonly patienceMs: DurationMs;
  readonly units: readonly CommitUnit[];
  /** The bells to be rung once the commit has returned. */
  readonly bells: readonly string[];
}

/** No results: the store was opened anew, and the units must be decided again. */
export interface CommitAnswer {
  readonly opened: Opened;
  readonly results: readonly UnitResult[] | undefined;
}

export interface ScanAnswer {
  readonly opened: Opened;
  readonly rows: readonly StoredRow[];
}

/** How the host is reached: a call on the same thread, or messages to a worker. */
export interface HostLink {
  open(patienceMs: DurationMs): Promise<Opened>;
  commit(request: CommitRequest): CommitAnswer | Promise<CommitAnswer>;
  scan(range: KeyRange, patienceMs: DurationMs): Promise<ScanAnswer>;
  /** A number that moves when another connection has committed. */
  dataVersion(): Promise<number>;
  close(): Promise<void>;
}

/** Units as one flat list, which is cheaper to send than objects. */
export type FlatUnits = readonly (string | number | null)[];

export type HostRequest =
  | { readonly id: number; readonly kind: "open"; readonly patienceMs: DurationMs }
  | {
      readonly id: number;
      readonly kind: "commit";
      readonly generation: number;
      readonly patienceMs: DurationMs;
      readonly units: FlatUnits;
      readonly bells: readonly string[];
      /** The next request may follow at once, so it is worth a short wait. */
      readonly isLone: boolean;
    }
  | {
      readonly id: number;
      readonly kind: "scan";
      readonly range: KeyRange;
      readonly patienceMs: DurationMs;
    }
  | { readonly id: number; readonly kind: "version" | "close" };

/** What a worker thread is started with. */
export interface WorkerStart {
  readonly host: HostOptions;
  readonly port: MessagePort;
  /** Counts the requests sent. */
  readonly requests: Int32Array;
}

export interface HostReply {
  readonly id: number;
  readonly answer?: unknown;
  readonly failure?: SqliteFailure;
}

const none: readonly never[] = Object.freeze([]);

/**
 * Per unit: decidedAt, validUntil, count of reads, (key, revision)*, count of writes, (key, text)*.
 */
export function flattenUnits(units: readonly CommitUnit[]): FlatUnits {
  const flat: (string | number | null)[] = [];
  for (const unit of units) {
    const { readKeys, readRevisions, writeKeys, writeTexts } = unit;
    flat.push(unit.decidedAt, unit.validUntil, readKeys.length);
    for (let i = 0; i < readKeys.length; i += 1) {
      flat.push(readKeys[i] as string, readRevisions[i] as number);
    }
    flat.push(writeKeys.length);
    for (let i = 0; i < writeKeys.length; i += 1) {
      flat.push(writeKeys[i] as string, writeTexts[i] as string | null);
    }
  }
  return flat;
}

/** The inverse of {@link flattenUnits}; hints stay behind, because bells were made of them. */
export function unflattenUnits(flat: FlatUnits): CommitUnit[] {
  const units: CommitUnit[] = [];
  let at = 0;
  const pairs = <Second>(): [string[], Second[]] => {
    const count = flat[at++] as number;
    const keys: string[] = [];
    const seconds: Second[] = [];
    for (let i = 0; i < count; i += 1) {
      keys.push(flat[at++] as string);
      seconds.push(flat[at++] as Second);
    }
    return [keys, seconds];
  };
  while (at < flat.length) {
    const decidedAt = flat[at++] as number;
    const validUntil = flat[at++] as number;
    const [readKeys, readRevisions] = pairs<number>();
    const [writeKeys, writeTexts] = pairs<string | null>();
    const reads = { readKeys, readRevisions };
    units.push({ decidedAt, validUntil, ...reads, writeKeys, writeTexts, hintKeys: none });
  }
  return units;
}
