import { DatabaseSync } from "node:sqlite";
import type { StatementSync } from "node:sqlite";

import type { EpochMs } from "../../core/scalars.ts";
import type { Entropy } from "../../time/clock.ts";
import type { HostTime } from "../../time/host-time.ts";
import { storeFailure } from "./sqlite-failure.ts";
import * as sql from "./statements.ts";
import { fileIdentity } from "./store-file.ts";

/** The version of the tables that this code makes and reads. */
const format = 1;
/** Revisions that a connection takes at once, so that commits need no counter. */
const revisionsPerBlock = 1_000_000;
/** A commit promises engine time this far ahead, so that few commits have to. */
const stampAheadMs = 10_000;
/** The log is cut back to this size when it is begun anew. */
const logBytesMax = 16 * 2 ** 20;

type StatementName =
  | "begin"
  | "beginImmediate"
  | "commit"
  | "rollback"
  | "dataVersion"
  | "raiseStamp"
  | "takeRevisions"
  | "readRevision"
  | "readRecord"
  | "putRecord"
  | "replaceRecord"
  | "insertRecord"
  | "deleteRecord"
  | "readPage"
  | "readLastPage";

type Prepared = Readonly<Record<StatementName, StatementSync>>;

const preparedSql: Readonly<Record<StatementName, string>> = {
  begin: "BEGIN",
  beginImmediate: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  rollback: "ROLLBACK",
  dataVersion: "PRAGMA data_version",
  raiseStamp: sql.raiseStamp,
  takeRevisions: sql.takeRevisions,
  readRevision: sql.readRevision,
  readRecord: sql.readRecord,
  putRecord: sql.putRecord,
  replaceRecord: sql.replaceRecord,
  insertRecord: sql.insertRecord,
  deleteRecord: sql.deleteRecord,
  readPage: sql.readPage,
  readLastPage: sql.readLastPage,
};

/**
 * One open store: the connection, its statements, and the facts that were read when it was opened.
 *
 * Engine time is the host's monotonic clock plus an origin that the first opener of a boot stores:
 * the calendar's time then, or the highest engine time that an earlier boot may have used, if that
 * is more. So setting the calendar moves nothing, and a reboot never takes engine time back.
 */
export class Connection {
  readonly statements: Prepared;
  readonly originMs: number;
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #identity: string;
  #logIdentity: string | undefined;
  readonly #time: HostTime;
  #nextRevision = 1;
  #lastRevision = 0;
  #stampMs = 0;

  constructor(path: string, time: HostTime, entropy: Entropy) {
    this.#path = path;
    this.#time = time;
    const before = fileIdentity(path);
    this.#database = new DatabaseSync(path, { timeout: 0 });
    try {
      const identity = fileIdentity(path);
      if (identity === undefined || (before !== undefined && before !== identity)) {
        throw storeFailure(`the file ${path} was replaced while it was opened`, {
          isTransient: true,
        });
      }
      this.#identity = identity;
      this.#configure();
      this.originMs = this.#readOrigin() ?? this.#writeOrigin(entropy);
      this.statements = this.#prepare();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  now(): EpochMs {
    return Math.floor(this.originMs + this.#time.monotonicMs());
  }

  /**
   * Whether the files that this connection writes to still stand at their paths: the store, and the
   * log beside it, which holds what was committed last. The log stays as long as anybody has the
   * store open.
   */
  isInPlace(): boolean {
    if (fileIdentity(this.#path) !== this.#identity) return false;
    const log = fileIdentity(`${this.#path}-wal`);
    if (this.#logIdentity === undefined) this.#logIdentity = log;
    return log === this.#logIdentity;
  }

  /** A revision that no content of any record ever had. Inside a writing transaction. */
  nextRevision(): number {
    if (this.#nextRevision > this.#lastRevision) {
      const row = this.statements.takeRevisions.get(revisionsPerBlock) as { value: number };
      this.#lastRevision = row.value;
      this.#nextRevision = row.value - revisionsPerBlock + 1;
    }
    const revision = this.#nextRevision;
    this.#nextRevision += 1;
    return revision;
  }

  /** Stores how far engine time may have got by the next such promise. */
  stamp(now: EpochMs): void {
    if (now <= this.#stampMs) return;
    this.#stampMs = now + stampAheadMs;
    this.statements.raiseStamp.run(this.#stampMs);
  }

  /** Ends a transaction that failed; what it had taken from the store is taken anew next time. */
  rollback(): void {
    this.#lastRevision = 0;
    this.#nextRevision = 1;
    this.#stampMs = 0;
    try {
      this.statements.rollback.run();
    } catch {
      // SQLite has rolled back by itself already, as it does after most failures.
    }
  }

  /** Moves the log into the file; `true` when the log may be begun anew by the next writer. */
  checkpoint(mode: "PASSIVE" | "RESTART"): boolean {
    const row = this.#database.prepare(`PRAGMA wal_checkpoint(${mode})`).get();
    const { busy, log, checkpointed } = row as { busy: number; log: number; checkpointed: number };
    return busy === 0 && log === checkpointed;
  }

  close(): void {
    this.#database.close();
  }

  #configure(): void {
    const mode = this.#database.prepare("PRAGMA journal_mode = WAL").get();
    if ((mode as { journal_mode: string }).journal_mode !== "wal") {
      throw storeFailure("the file system does not support write-ahead logging");
    }
    this.#database.exec(
      "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; " +
        `PRAGMA journal_size_limit = ${logBytesMax}`,
    );
  }

  #prepare(): Prepared {
    const entries = Object.entries(preparedSql);
    const prepared = entries.map(([name, text]) => [name, this.#database.prepare(text)]);
    return Object.fromEntries(prepared) as Prepared;
  }

  /** The origin of this boot, or `undefined` when there is none yet. */
  #readOrigin(): number | undefined {
    if (this.#database.prepare(sql.findMetaTable).get() === undefined) return undefined;
    const rows = this.#database.prepare(sql.readMeta).all() as { name: string; value: unknown }[];
    const meta = new Map(rows.map(({ name, value }) => [name, value]));
    const found = meta.get("format");
    if (found !== undefined && found !== format) {
      const shown = JSON.stringify(found);
      throw storeFailure(`the store has format ${shown}, and this version reads ${format}`);
    }
    const originMs = meta.get("origin");
    this.#stampMs = Number(meta.get("stamp") ?? 0);
    if (typeof originMs !== "number" || meta.get("boot") !== (this.#time.bootId ?? "")) {
      return undefined;
    }
    // Without the name of the boot a clock behind the last promise tells of another one.
    const isBehind = originMs + this.#time.monotonicMs() < this.#stampMs - stampAheadMs;
    return this.#time.bootId === undefined && isBehind ? undefined : originMs;
  }

  #writeOrigin(entropy: Entropy): number {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      this.#database.exec(sql.createTables);
      const found = this.#readOrigin();
      const startMs = Math.max(this.#time.wallMs(), this.#stampMs);
      const originMs = found ?? Math.ceil(startMs - this.#time.monotonicMs());
      if (found === undefined) this.#writeMeta(originMs, startMs, entropy);
      this.#database.exec("COMMIT");
      return originMs;
    } catch (error) {
      this.#rollBackOpening();
      throw error;
    }
  }

  #rollBackOpening(): void {
    try {
      this.#database.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back by itself already.
    }
  }

  #writeMeta(originMs: number, startMs: EpochMs, entropy: Entropy): void {
    const put = this.#database.prepare(sql.putMeta);
    const add = this.#database.prepare(sql.addMeta);
    add.run("format", format);
    add.run("store", entropy.id());
    add.run("revision", 0);
    put.run("boot", this.#time.bootId ?? "");
    put.run("origin", originMs);
    put.run("stamp", startMs);
    this.#stampMs = 0;
  }
}
