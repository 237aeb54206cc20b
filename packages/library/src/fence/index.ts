export type { Fenced, FenceEntry, FenceMode, FenceOptions } from "../core/fence/entry.ts";
export type { FenceMarks } from "../core/fence/rule.ts";
export type { Guard, InstallResult } from "./guard.ts";
export { MemoryFence } from "./memory-fence.ts";
export type { MarkColumns, RowGuard } from "./row-guard.ts";
export type { SqliteDatabase, SqliteStatement } from "./sqlite-database.ts";
export { SqliteFence } from "./sqlite-fence.ts";
