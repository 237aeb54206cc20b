/**
 * Purpose: the table of records and the table of facts about the store.
 * Round trips: one, at the making of a store. Runs inside BEGIN IMMEDIATE, so concurrent openers
 * make it once. `value` of the facts has no type: texts and numbers are kept as they are.
 *
 * The records have a row id and an index beside them, and are not clustered by key: a changed
 * record then dirties one page of the table, records made in one commit lie side by side, and what
 * travels together is written together. Clustered by key, a batch of 128 wrote twice as many pages.
 */
export const createTables: string = `
CREATE TABLE IF NOT EXISTS leasehold_record (
  key TEXT PRIMARY KEY,
  revision INTEGER NOT NULL,
  value TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS leasehold_meta (
  name TEXT PRIMARY KEY,
  value NOT NULL
) WITHOUT ROWID`;

/** Purpose: whether the store was made already. Any isolation. */
export const findMetaTable: string =
  "SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = 'leasehold_meta'";

/** Purpose: all facts of the store, half a dozen rows. Any isolation. */
export const readMeta: string = "SELECT name, value FROM leasehold_meta";

/** Purpose: sets a fact. Inside BEGIN IMMEDIATE. */
export const putMeta: string =
  "INSERT INTO leasehold_meta (name, value) VALUES (?, ?) " +
  "ON CONFLICT (name) DO UPDATE SET value = excluded.value";

/** Purpose: sets a fact that is set once and for all. Inside BEGIN IMMEDIATE. */
export const addMeta: string =
  "INSERT INTO leasehold_meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING";

/** Purpose: says that engine time up to the given instant may have been used; never lowers it. */
export const raiseStamp: string =
  "UPDATE leasehold_meta SET value = max(value, ?) WHERE name = 'stamp'";

/** Purpose: takes a block of revisions for this connection alone. Inside BEGIN IMMEDIATE. */
export const takeRevisions: string =
  "UPDATE leasehold_meta SET value = value + ? WHERE name = 'revision' RETURNING value";

/** Purpose: compares one read of a decision. Inside the transaction that commits it. */
export const readRevision: string = "SELECT revision FROM leasehold_record WHERE key = ?";

/** Purpose: what a decision in conflict is told. Inside the transaction that refused it. */
export const readRecord: string = "SELECT revision, value FROM leasehold_record WHERE key = ?";

/** Purpose: stores a record whose revision was compared before in the same transaction. */
export const putRecord: string =
  "INSERT INTO leasehold_record (key, revision, value) VALUES (?, ?, ?) " +
  "ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, value = excluded.value";

/** Purpose: compares and stores in one step, for a decision over one record that is there. */
export const replaceRecord: string =
  "UPDATE leasehold_record SET revision = ?, value = ? WHERE key = ? AND revision = ?";

/** Purpose: compares and stores in one step, for a decision over one record that is absent. */
export const insertRecord: string =
  "INSERT INTO leasehold_record (key, revision, value) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";

/** Purpose: deletes a record whose revision was compared before in the same transaction. */
export const deleteRecord: string = "DELETE FROM leasehold_record WHERE key = ?";

/** Purpose: a page of a listing; the order of the primary key is the order of the UTF-8 bytes. */
export const readPage: string =
  "SELECT key, value FROM leasehold_record WHERE key >= ? AND key > ? AND key < ? " +
  "ORDER BY key LIMIT ?";

/** Purpose: the same where every key from the first on belongs to the listing. */
export const readLastPage: string =
  "SELECT key, value FROM leasehold_record WHERE key >= ? AND key > ? ORDER BY key LIMIT ?";
