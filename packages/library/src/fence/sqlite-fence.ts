import type { FenceEntry, Fenced, FenceOptions } from "../core/fence/entry.ts";
import { checkFenced } from "../core/fence/entry-checks.ts";
import {
  decideFences,
  type FenceMarks,
  type PassedEntry,
  type StaleEntries,
} from "../core/fence/rule.ts";
import { checkName } from "../core/name.ts";
import {
  FenceInstallError,
  InvalidArgumentError,
  RecordCorruptError,
  StaleFenceError,
} from "../errors.ts";
import type { Guard, InstallResult } from "./guard.ts";
import { checkDone, checkWork } from "./guarded-work.ts";
import { guardRow, type MarkColumns, type RowGuard } from "./row-guard.ts";
import {
  checkDatabase,
  inTransaction,
  isInTransaction,
  prepareRows,
  type SqliteDatabase,
  type SqliteStatement,
} from "./sqlite-database.ts";
import * as sql from "./statements.ts";

/** The version of the tables that this code makes and reads. */
const format = 1;
/** Stands for the name as a whole where a row of the table names a slot. */
const wholeName = -1;

/**
 * A fence in a SQLite database of the user, beside the data that it guards.
 *
 * The first fence of a database makes the tables `leasehold_fence` and `leasehold_fence_meta`; the
 * others find them. A guard compares and raises inside the transaction that writes the data, so
 * both are stored or neither, and acceptance has the order of the commits. Marks are as durable as
 * the data. What the driver throws, as when another process writes, is thrown on as it is.
 *
 *     const fence = new SqliteFence(database);
 *     fence.guarded(lease, {}, () => database.prepare("UPDATE …").run());
 */
export class SqliteFence<Database extends SqliteDatabase = SqliteDatabase> implements Guard {
  readonly #database: Database;
  readonly #read: SqliteStatement;
  readonly #readAll: SqliteStatement;
  readonly #raise: SqliteStatement;

  /**
   * Makes the tables where they are absent, in a transaction of its own. Throws
   * `InvalidArgumentError` for what is no database, or when a transaction is open that could take
   * the new tables back; `RecordCorruptError` for tables of a newer format.
   */
  constructor(database: Database) {
    checkDatabase(database);
    this.#database = database;
    this.#setUp();
    this.#read = prepareRows(database, sql.readFenceMarks);
    this.#readAll = prepareRows(database, sql.readAllFenceMarks);
    this.#raise = prepareRows(database, sql.raiseFenceMarks);
  }

  /**
   * Compares and raises inside the transaction that is open, before it writes what is guarded.
   *
   * Throws `StaleFenceError` for an older token; then nothing was raised, and the transaction is to
   * be rolled back. Throws `InvalidArgumentError` without a token or without a transaction.
   */
  guard(fenced: Fenced, options: FenceOptions = {}): void {
    const checked = checkFenced(fenced, options);
    if (!isInTransaction(this.#database)) {
      const rule = "must have an open transaction; begin one, or use guarded";
      throw new InvalidArgumentError("database", this.#database, rule);
    }
    const stale = this.#pass(checked);
    if (stale !== undefined) throw new StaleFenceError(stale[0]);
  }

  /**
   * Runs `work` in a transaction of its own when the tokens pass, and gives what it gives. When
   * anything throws, all is rolled back: what was written, and the marks.
   *
   * Throws `StaleFenceError` before the work; `InvalidArgumentError` without a token, inside
   * another transaction, and for asynchronous work.
   */
  guarded<Value>(
    fenced: Fenced,
    options: FenceOptions,
    work: (database: Database) => Value,
  ): Value {
    const checked = checkFenced(fenced, options);
    checkWork(work);
    this.#assertIdle("guarded");
    return inTransaction(this.#database, () => {
      const stale = this.#pass(checked);
      if (stale !== undefined) throw new StaleFenceError(stale[0]);
      const value = work(this.#database);
      checkDone(value);
      return value;
    });
  }

  /**
   * The parts of an UPDATE for a row that carries the marks itself: no table, and no statement
   * more. A row has the marks of one name; for a lease of several, `names` says which. Parts for
   * several names may stand in one UPDATE, each with columns of its own.
   *
   * Throws `InvalidArgumentError` without a token, and for columns that are no identifiers.
   */
  where(fenced: Fenced, columns: MarkColumns, options: FenceOptions = {}): RowGuard {
    return guardRow(fenced, columns, options);
  }

  /** The marks of a name in the table; all 0 for one that was never guarded. */
  marks(namespace: string, name: string): FenceMarks {
    const rows = this.#readAll.all(checkName("namespace", namespace), checkName("name", name));
    let [markX, markS] = [0, 0];
    const slots: Record<number, number> = {};
    for (const row of rows as (MarkRow & { readonly slot: number | bigint })[]) {
      if (Number(row.slot) === wholeName) [markX, markS] = [Number(row.mark_x), Number(row.mark_s)];
      else slots[Number(row.slot)] = Number(row.mark_x);
    }
    return { markX, markS, slots };
  }

  async install(fenced: Fenced): Promise<InstallResult> {
    const checked = checkFenced(fenced);
    try {
      this.#assertIdle("install");
      const stale = inTransaction(this.#database, () => this.#pass(checked));
      return stale === undefined ? { kind: "installed" } : { kind: "newer", marks: stale };
    } catch (error) {
      const [first] = checked.fences;
      throw new FenceInstallError(first.name, first.token, error);
    }
  }

  /** Raises the marks and gives undefined, or the entries that are stale. In a transaction. */
  #pass({ namespace, fences }: Fenced): StaleEntries | undefined {
    const verdict = decideFences(fences, (entry) => this.#marksFor(namespace, entry));
    if (verdict.kind === "refused") return verdict.stale;
    for (const passed of verdict.passed) this.#store(namespace, passed);
    return undefined;
  }

  #marksFor(namespace: string, { name, slots = [] }: FenceEntry): FenceMarks {
    const read = (slot: number): MarkRow =>
      (this.#read.get(namespace, name, slot) as MarkRow | undefined) ?? { mark_x: 0, mark_s: 0 };
    const whole = read(wholeName);
    const ofSlots = slots.map((slot) => [slot, Number(read(slot).mark_x)] as const);
    const [markX, markS] = [Number(whole.mark_x), Number(whole.mark_s)];
    return { markX, markS, slots: Object.fromEntries(ofSlots) };
  }

  /** Writes the rows that have changed, so that a holder who comes back writes none. */
  #store(namespace: string, { entry, before, after }: PassedEntry): void {
    const { name, slots = [] } = entry;
    const { markX, markS } = after;
    if (markX !== before.markX || markS !== before.markS) {
      this.#raise.run(namespace, name, wholeName, markX, markS);
    }
    for (const slot of slots) {
      const mark = after.slots[slot] ?? 0;
      if (mark !== before.slots[slot]) this.#raise.run(namespace, name, slot, mark, 0);
    }
  }

  #assertIdle(call: string): void {
    if (!isInTransaction(this.#database)) return;
    const rule = `must have no open transaction, because ${call} begins one; use guard inside`;
    throw new InvalidArgumentError("database", this.#database, rule);
  }

  #setUp(): void {
    const database = this.#database;
    if (this.#hasTables()) return;
    this.#assertIdle("the first fence of a database");
    inTransaction(database, () => {
      // Somebody else may have made them since; then their format counts.
      if (this.#hasTables()) return;
      database.exec(sql.createFenceTables);
      database.prepare(sql.addFenceFormat).run(format);
    });
  }

  #hasTables(): boolean {
    if (this.#database.prepare(sql.findFenceMeta).get() === undefined) return false;
    const row = prepareRows(this.#database, sql.readFenceFormat).get();
    const found = (row as { readonly value: unknown } | undefined)?.value;
    if (found !== undefined && Number(found) === format) return true;
    const problem = `has format ${String(found)}, and this version reads ${format}`;
    throw new RecordCorruptError("leasehold_fence_meta", problem);
  }
}

interface MarkRow {
  readonly mark_x: number | bigint;
  readonly mark_s: number | bigint;
}
