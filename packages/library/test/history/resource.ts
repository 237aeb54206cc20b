import { DatabaseSync } from "node:sqlite";

/** Tells whether a write under a token may be made; runs in the transaction of the write. */
export type Guard = (database: DatabaseSync, token: number) => boolean;

/** Every write is taken, whatever its token. */
export const withoutGuard: Guard = () => true;

/** The smallest fence: the highest token that was accepted is stored, and a lower one refused. */
export const markGuard: Guard = (database, token) => {
  const { mark } = database.prepare("SELECT mark FROM fence").get() as { readonly mark: number };
  if (token < mark) return false;
  database.prepare("UPDATE fence SET mark = ?").run(token);
  return true;
};

/** What is appended: the token under which, and by whom. */
export interface Entry {
  readonly token: number;
  readonly by: string;
}

/** How long a writer waits for another one's transaction. */
const busyMs = 5_000;

/**
 * A list in a SQLite file of its own. It is appended to by reading all of it and writing all of it
 * back, so that a second writer between the two loses what the first has written.
 */
export class Resource implements Disposable {
  readonly #database: DatabaseSync;
  readonly #guard: Guard;

  constructor(path: string, guard: Guard) {
    this.#database = new DatabaseSync(path, { timeout: busyMs });
    this.#guard = guard;
    this.#database.exec(`
      PRAGMA journal_mode = WAL;
      CREATE TABLE IF NOT EXISTS list (id INTEGER PRIMARY KEY CHECK (id = 1), entries TEXT);
      CREATE TABLE IF NOT EXISTS fence (id INTEGER PRIMARY KEY CHECK (id = 1), mark INTEGER);
      INSERT OR IGNORE INTO list VALUES (1, '[]');
      INSERT OR IGNORE INTO fence VALUES (1, 0);
    `);
  }

  read(): readonly Entry[] {
    const row = this.#database.prepare("SELECT entries FROM list").get();
    return JSON.parse((row as { readonly entries: string }).entries) as readonly Entry[];
  }

  /** Writes the whole list; false when the guard refuses, and then nothing has changed. */
  write(entries: readonly Entry[], token: number): boolean {
    this.#database.exec("BEGIN IMMEDIATE");
    const isTaken = this.#guard(this.#database, token);
    if (isTaken) {
      this.#database.prepare("UPDATE list SET entries = ?").run(JSON.stringify(entries));
    }
    this.#database.exec(isTaken ? "COMMIT" : "ROLLBACK");
    return isTaken;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
