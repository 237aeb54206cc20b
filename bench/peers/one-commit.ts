import { DatabaseSync } from "node:sqlite";

import type { Cycle } from "../measure.ts";

/**
 * The lock that teams write by hand on SQLite: a row per lock, one durable transaction for each
 * acquire and each release, on the caller's thread. No queue, no renewal, no fence.
 */
export class OneCommitLock {
  readonly #database: DatabaseSync;
  readonly #statements;

  constructor(path: string) {
    this.#database = new DatabaseSync(path, { timeout: 5_000 });
    this.#database.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;" +
        "CREATE TABLE IF NOT EXISTS held (name TEXT PRIMARY KEY, owner TEXT, token INTEGER," +
        " ends INTEGER) WITHOUT ROWID",
    );
    this.#statements = {
      begin: this.#database.prepare("BEGIN IMMEDIATE"),
      commit: this.#database.prepare("COMMIT"),
      rollback: this.#database.prepare("ROLLBACK"),
      read: this.#database.prepare("SELECT owner, token, ends FROM held WHERE name = ?"),
      write: this.#database.prepare(
        "INSERT INTO held VALUES (?1, ?2, ?3, ?4)" +
          " ON CONFLICT (name) DO UPDATE SET owner = ?2, token = ?3, ends = ?4",
      ),
    };
  }

  /** The token, or 0 when somebody else holds it. */
  async tryAcquire(name: string, owner: string): Promise<number> {
    const { begin, commit, rollback, read, write } = this.#statements;
    begin.run();
    const row = read.get(name) as { owner: string; token: number; ends: number } | undefined;
    const now = Date.now();
    if (row !== undefined && row.owner !== "" && row.ends > now) {
      rollback.run();
      return 0;
    }
    const token = (row?.token ?? 0) + 1;
    write.run(name, owner, token, now + 30_000);
    commit.run();
    return token;
  }

  async release(name: string, owner: string): Promise<void> {
    const { begin, commit, read, write } = this.#statements;
    begin.run();
    const row = read.get(name) as { owner: string; token: number } | undefined;
    if (row?.owner === owner) write.run(name, "", row.token, 0);
    commit.run();
  }

  readonly cycle: Cycle = async (caller, turn) => {
    const name = `lock-${caller}-${turn & 31}`;
    await this.tryAcquire(name, "owner");
    await this.release(name, "owner");
  };

  close(): void {
    this.#database.close();
  }
}
