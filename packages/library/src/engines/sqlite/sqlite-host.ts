import type { DurationMs, EpochMs, MonotonicMs } from "../../core/scalars.ts";
import type { CommitUnit, FoundRecord, StoredRow, UnitResult } from "../../engine/commit-driver.ts";
import type { KeyRange } from "../../engine/key-range.ts";
import { blockFor } from "../../time/block.ts";
import type { Entropy } from "../../time/clock.ts";
import type { HostTime } from "../../time/host-time.ts";
import { bellOf } from "./bell-name.ts";
import { BellRinger } from "./bell-ringer.ts";
import { Connection } from "./connection.ts";
import type {
  CommitAnswer,
  CommitRequest,
  HostOptions,
  Opened,
  ScanAnswer,
} from "./host-protocol.ts";
import { classifySqliteError, SqliteFailureError, storeFailure } from "./sqlite-failure.ts";
import type { Phase } from "./sqlite-failure.ts";
import { prepareFolder } from "./store-file.ts";

export interface HostPorts {
  readonly time: HostTime;
  readonly entropy: Entropy;
}

/** The log is moved into the file after so many commits, while nobody waits for it, ... */
const commitsPerCheckpoint = 500;
/** ... or after so many written records, whichever comes first. */
const writesPerCheckpoint = 4000;
/** When so many attempts have not emptied the log, it is begun anew by force. */
const checkpointsInVain = 4;
/** Waits between attempts on a busy store: from the first to the last, doubling, with jitter. */
const busyWaitMs = { first: 0.03, last: 0.5 };

const gone =
  "the file was deleted or replaced; leases granted in it are lost, and the next call opens anew";

/**
 * Opens the store and runs the transactions: the same on the caller's thread and in a worker.
 *
 * closed -> open -> closed after a failure that the connection may not survive; the next request
 * opens it again, and what was decided before is decided again under the new generation.
 *
 * The file at the path is compared before each COMMIT. When it is another one, or none, the
 * transaction is rolled back: nothing of that call was stored, so its outcome is `none`, and the
 * next call opens what is there then. What earlier commits acknowledged is gone with their file, as
 * if an administrator had deleted every record: a holder learns it from his next renewal, which
 * first fails and then, in the new store, does not find its record.
 */
export class SqliteHost {
  readonly #options: HostOptions;
  readonly #ports: HostPorts;
  readonly #ringer: BellRinger;
  #connection: Connection | undefined;
  #generation = 0;
  #commitsSinceCheckpoint = 0;
  #writesSinceCheckpoint = 0;
  #vainCheckpoints = 0;

  constructor(options: HostOptions, ports: HostPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#ringer = new BellRinger(options.bellFolder, () => ports.time.monotonicMs());
  }

  open(patienceMs: DurationMs): Opened {
    this.#retrying(patienceMs, () => this.#connect());
    return this.#opened();
  }

  commit(request: CommitRequest): CommitAnswer {
    return this.#retrying(request.patienceMs, () => {
      const connection = this.#connect();
      const opened = this.#opened();
      if (request.generation !== opened.generation) return { opened, results: undefined };
      const results = this.#runBatch(connection, request.units);
      for (const bell of request.bells) this.#ringer.ring(bell);
      this.#removeBells(request.units, results);
      return { opened, results };
    });
  }

  /** A deleted presence takes its bell along. */
  #removeBells(units: readonly CommitUnit[], results: readonly UnitResult[]): void {
    for (const [i, { writeKeys, writeTexts }] of units.entries()) {
      if (typeof results[i] !== "number") continue;
      for (const [place, key] of writeKeys.entries()) {
        const bell = writeTexts[place] === null ? bellOf(key) : undefined;
        if (bell !== undefined) this.#ringer.remove(bell);
      }
    }
  }

  scan(range: KeyRange, patienceMs: DurationMs): ScanAnswer {
    return this.#retrying(patienceMs, () => {
      const connection = this.#connect();
      const { statements } = connection;
      const rows = this.#transaction(connection, "begin", () => {
        const { from, after, before, limit } = range;
        return before === undefined
          ? statements.readLastPage.all(from, after, limit)
          : statements.readPage.all(from, after, before, limit);
      }) as unknown as { key: string; value: string }[];
      const found: StoredRow[] = rows.map(({ key, value }) => ({ key, text: value }));
      return { opened: this.#opened(), rows: found };
    });
  }

  dataVersion(): number {
    return this.#retrying(0, () => {
      const row = this.#connect().statements.dataVersion.get();
      return (row as { data_version: number }).data_version;
    });
  }

  /** Moves the log into the file when it has grown; to be called while nobody waits. */
  maintain(): void {
    const isDue =
      this.#commitsSinceCheckpoint >= commitsPerCheckpoint ||
      this.#writesSinceCheckpoint >= writesPerCheckpoint;
    if (!isDue || this.#connection === undefined) return;
    this.#commitsSinceCheckpoint = 0;
    this.#writesSinceCheckpoint = 0;
    try {
      const mode = this.#vainCheckpoints < checkpointsInVain ? "PASSIVE" : "RESTART";
      const isEmptied = this.#connection.checkpoint(mode);
      this.#vainCheckpoints = isEmptied ? 0 : this.#vainCheckpoints + 1;
    } catch (error) {
      // Somebody else is at it, or the disk is full: the log stays, and nothing is lost.
      if (classifySqliteError(error, "work").mustReopen) this.#disconnect();
    }
  }

  close(): void {
    this.#ringer.close();
    this.#disconnect();
  }

  #connect(): Connection {
    if (this.#connection !== undefined) return this.#connection;
    const { path, createFolder } = this.#options;
    const { time, entropy } = this.#ports;
    try {
      prepareFolder(path, createFolder);
      this.#connection = new Connection(path, time, entropy);
    } catch (error) {
      throw new SqliteFailureError(classifySqliteError(error, "open"), error);
    }
    this.#generation += 1;
    return this.#connection;
  }

  #disconnect(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    try {
      connection?.close();
    } catch {
      // A connection that has failed may fail to close; the next one recovers from the file.
    }
  }

  #opened(): Opened {
    const originMs = this.#connection?.originMs ?? 0;
    return { generation: this.#generation, originMs };
  }

  /** Repeats what finds the store busy, with short waits of this thread, until patience ends. */
  #retrying<Answer>(patienceMs: DurationMs, act: () => Answer): Answer {
    const { time, entropy } = this.#ports;
    let untilMs: MonotonicMs | undefined;
    for (let waitMs = busyWaitMs.first; ; waitMs = Math.min(busyWaitMs.last, 2 * waitMs)) {
      try {
        return act();
      } catch (error) {
        if (!(error instanceof SqliteFailureError)) throw error;
        if (error.failure.mustReopen) this.#disconnect();
        const nowMs = time.monotonicMs();
        untilMs ??= nowMs + Math.min(patienceMs, this.#options.blockMsMax);
        if (!error.failure.isBusy || nowMs >= untilMs) throw error;
        blockFor(waitMs * (0.5 + entropy.fraction()));
      }
    }
  }

  #runBatch(connection: Connection, units: readonly CommitUnit[]): UnitResult[] {
    const isWriting = units.some((unit) => unit.writeKeys.length > 0);
    const results: UnitResult[] = [];
    let writes = 0;
    this.#transaction(connection, isWriting ? "beginImmediate" : "begin", () => {
      const now = connection.now();
      for (const unit of units) {
        const result = runUnit(connection, unit, results, now);
        if (typeof result === "number") writes += unit.writeKeys.length;
        results.push(result);
      }
      if (writes > 0) connection.stamp(now);
    });
    this.#writesSinceCheckpoint += writes;
    if (writes > 0) this.#commitsSinceCheckpoint += 1;
    return results;
  }

  #transaction<Answer>(
    connection: Connection,
    begin: "begin" | "beginImmediate",
    act: () => Answer,
  ): Answer {
    const { statements } = connection;
    let phase: Phase = "work";
    try {
      statements[begin].run();
      const answer = act();
      if (!connection.isInPlace()) throw storeFailure(gone, { isTransient: true });
      phase = "commit";
      statements.commit.run();
      return answer;
    } catch (error) {
      const failure = classifySqliteError(error, phase);
      connection.rollback();
      throw new SqliteFailureError(failure, error);
    }
  }
}

/** Compares and, when all that the unit relied on still holds, writes. */
function runUnit(
  connection: Connection,
  unit: CommitUnit,
  earlier: readonly UnitResult[],
  now: EpochMs,
): UnitResult {
  const { readKeys, readRevisions, writeKeys } = unit;
  const isOfNow = now < unit.validUntil && now >= unit.decidedAt;
  if (!isOfNow) return findRecords(connection, readKeys);
  const isOneRecord = readKeys.length === 1 && writeKeys.length === 1;
  const [revision] = readRevisions;
  if (isOneRecord && revision !== undefined && revision >= 0 && unit.writeTexts[0] !== null) {
    return swapRecord(connection, unit, revision);
  }
  for (let i = 0; i < readKeys.length; i += 1) {
    const expected = readRevisions[i] as number;
    if (expected < 0) {
      if (typeof earlier[-1 - expected] !== "number") return [];
      continue;
    }
    const row = connection.statements.readRevision.get(readKeys[i] as string);
    const stored = row === undefined ? 0 : (row as { revision: number }).revision;
    if (stored !== expected) return findRecords(connection, readKeys);
  }
  return writeRecords(connection, unit);
}

/** The short way of a unit that reads and writes the same record. */
function swapRecord(connection: Connection, unit: CommitUnit, expected: number): UnitResult {
  const key = unit.writeKeys[0] as string;
  const text = unit.writeTexts[0] as string;
  const { insertRecord, replaceRecord } = connection.statements;
  const revision = connection.nextRevision();
  const { changes } =
    expected === 0
      ? insertRecord.run(key, revision, text)
      : replaceRecord.run(revision, text, key, expected);
  return Number(changes) === 1 ? revision : findRecords(connection, unit.readKeys);
}

function writeRecords(connection: Connection, unit: CommitUnit): number {
  const { writeKeys, writeTexts } = unit;
  if (writeKeys.length === 0) return 0;
  const { putRecord, deleteRecord } = connection.statements;
  const revision = connection.nextRevision();
  for (let i = 0; i < writeKeys.length; i += 1) {
    const key = writeKeys[i] as string;
    const text = writeTexts[i] as string | null;
    if (text === null) deleteRecord.run(key);
    else putRecord.run(key, revision, text);
  }
  return revision;
}

function findRecords(connection: Connection, keys: readonly string[]): FoundRecord[] {
  return keys.map((key) => {
    const row = connection.statements.readRecord.get(key);
    if (row === undefined) return { text: null, revision: 0 };
    const { revision, value } = row as { revision: number; value: string };
    return { text: value, revision };
  });
}
