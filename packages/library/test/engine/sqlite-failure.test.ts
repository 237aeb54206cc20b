import { expect, test } from "vitest";

import { classifySqliteError } from "../../src/engines/sqlite/sqlite-failure.ts";
import type { Phase } from "../../src/engines/sqlite/sqlite-failure.ts";

type Row = [
  name: string,
  code: number,
  phase: Phase,
  outcome: "none" | "unknown",
  isTransient: boolean,
  isBusy: boolean,
  mustReopen: boolean,
];

const rows: readonly Row[] = [
  ["BUSY at BEGIN", 5, "work", "none", true, true, false],
  ["BUSY_RECOVERY", 261, "work", "none", true, true, false],
  ["BUSY_SNAPSHOT", 517, "work", "none", true, true, false],
  ["BUSY at COMMIT", 5, "commit", "none", true, true, false],
  ["LOCKED", 6, "work", "none", true, true, false],
  ["FULL while working", 13, "work", "none", false, false, false],
  ["FULL at COMMIT", 13, "commit", "none", false, false, false],
  ["IOERR_WRITE while working", 778, "work", "none", false, false, true],
  ["IOERR_WRITE at COMMIT", 778, "commit", "unknown", true, false, true],
  ["IOERR_FSYNC at COMMIT", 1034, "commit", "unknown", true, false, true],
  ["IOERR_READ while working", 266, "work", "none", true, false, true],
  ["IOERR at COMMIT", 10, "commit", "unknown", true, false, true],
  ["CORRUPT while working", 11, "work", "none", false, false, true],
  ["CORRUPT at COMMIT", 11, "commit", "unknown", false, false, true],
  ["NOTADB", 26, "open", "none", false, false, true],
  ["CANTOPEN", 14, "open", "none", false, false, true],
  ["READONLY", 8, "work", "none", false, false, true],
  ["READONLY_DBMOVED", 1032, "work", "none", false, false, true],
  ["TOOBIG", 18, "work", "none", false, false, false],
  ["NOMEM", 7, "work", "none", true, false, true],
];

test.each(rows)("%s is classified", (_name, code, phase, ...expected) => {
  const error = Object.assign(new Error("said"), { code: "ERR_SQLITE_ERROR", errcode: code });
  const { outcome, isTransient, isBusy, mustReopen } = classifySqliteError(error, phase);
  expect([outcome, isTransient, isBusy, mustReopen]).toEqual(expected);
});

test("an error that is not SQLite's is definite before COMMIT and unknown at it", () => {
  const error = new TypeError("odd");
  expect(classifySqliteError(error, "work").outcome).toBe("none");
  expect(classifySqliteError(error, "commit").outcome).toBe("unknown");
});
