export { openSqlite } from "./open-sqlite.ts";
export type { SqliteOptions } from "./open-sqlite.ts";
export { capabilities as sqliteCapabilities } from "./sqlite-driver.ts";
