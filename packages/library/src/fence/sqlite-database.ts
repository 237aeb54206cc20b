import { InvalidArgumentError } from "../errors.ts";

/** A value that a fence binds. */
type Bound = string | number;

/** What is used of a `StatementSync` of node:sqlite. */
export interface SqliteStatement {
  get(...parameters: Bound[]): unknown;
  all(...parameters: Bound[]): unknown[];
  run(...parameters: Bound[]): unknown;
  setReturnArrays?(isArray: boolean): void;
}

/** What is used of a `DatabaseSync` of node:sqlite, Node 22.14 or later. */
export interface SqliteDatabase {
  /** Absent before Node 22.16. */
  readonly isTransaction?: boolean | undefined;
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
}

/** SQLITE_ERROR: what BEGIN fails with when a transaction is open. */
const genericError = 1;

export function checkDatabase(database: unknown): void {
  const { exec, prepare } = (database ?? {}) as Partial<SqliteDatabase>;
  if (typeof exec === "function" && typeof prepare === "function") return;
  throw new InvalidArgumentError("database", database, "must be a DatabaseSync of node:sqlite");
}

/** Whether a transaction is open on this connection. */
export function isInTransaction(database: SqliteDatabase): boolean {
  if (database.isTransaction !== undefined) return database.isTransaction;
  try {
    // Older drivers do not tell, but a plain BEGIN waits for nobody and fails in a transaction.
    database.exec("BEGIN");
  } catch (error) {
    if ((error as { readonly errcode?: unknown }).errcode === genericError) return true;
    throw error;
  }
  database.exec("ROLLBACK");
  return false;
}

/** A statement that gives rows as objects, whatever the connection was opened with. */
export function prepareRows(database: SqliteDatabase, sql: string): SqliteStatement {
  const statement = database.prepare(sql);
  statement.setReturnArrays?.(false);
  return statement;
}

/**
 * Runs `work` in a write transaction of its own. What fails before COMMIT is rolled back and thrown
 * on; a COMMIT that fails is thrown as the driver told it.
 */
export function inTransaction<Value>(database: SqliteDatabase, work: () => Value): Value {
  database.exec("BEGIN IMMEDIATE");
  try {
    const value = work();
    database.exec("COMMIT");
    return value;
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

function rollBack(database: SqliteDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // SQLite has rolled back by itself already, as it does after most failures.
  }
}
