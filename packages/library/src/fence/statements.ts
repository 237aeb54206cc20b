/**
 * Purpose: the tables of the SQLite fence in a database of the user. Round trips: one, once for
 * each database. Runs inside BEGIN IMMEDIATE, so concurrent openers make them once.
 *
 * `slot` is -1 for the marks of the name as a whole. Every row is a name of its own or a slot, and
 * the primary key compares code points, as names are compared.
 */
export const createFenceTables: string = `
CREATE TABLE IF NOT EXISTS main.leasehold_fence (
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  slot INTEGER NOT NULL,
  mark_x INTEGER NOT NULL,
  mark_s INTEGER NOT NULL,
  PRIMARY KEY (namespace, name, slot)
) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS main.leasehold_fence_meta (
  name TEXT PRIMARY KEY,
  value NOT NULL
) WITHOUT ROWID`;

/** Purpose: whether the tables were made already. Any isolation. */
export const findFenceMeta: string =
  "SELECT 1 AS found FROM main.sqlite_schema " +
  "WHERE type = 'table' AND name = 'leasehold_fence_meta'";

/** Purpose: the format of the tables. Any isolation. */
export const readFenceFormat: string =
  "SELECT value FROM main.leasehold_fence_meta WHERE name = 'format'";

/** Purpose: says the format, once and for all. Inside BEGIN IMMEDIATE. */
export const addFenceFormat: string =
  "INSERT INTO main.leasehold_fence_meta (name, value) VALUES ('format', ?) " +
  "ON CONFLICT DO NOTHING";

/**
 * Purpose: the marks of one name or slot, before they are compared. Round trips: one for an entry
 * and one more for each of its slots. Inside the transaction of the guarded write, which SQLite
 * lets commit only if nobody else has written since.
 */
export const readFenceMarks: string =
  "SELECT mark_x, mark_s FROM main.leasehold_fence WHERE namespace = ? AND name = ? AND slot = ?";

/** Purpose: all marks of one name. Any isolation. */
export const readAllFenceMarks: string =
  "SELECT slot, mark_x, mark_s FROM main.leasehold_fence WHERE namespace = ? AND name = ?";

/**
 * Purpose: raises the marks of one name or slot after all entries have passed. Round trips: one for
 * each row that changes. Inside the transaction that read them; it could not lower a mark if it
 * were run anywhere else.
 */
export const raiseFenceMarks: string =
  "INSERT INTO main.leasehold_fence (namespace, name, slot, mark_x, mark_s) " +
  "VALUES (?, ?, ?, ?, ?) ON CONFLICT (namespace, name, slot) DO UPDATE SET " +
  "mark_x = max(mark_x, excluded.mark_x), mark_s = max(mark_s, excluded.mark_s)";
