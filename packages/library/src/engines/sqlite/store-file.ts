import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

import { InvalidArgumentError } from "../../errors.ts";
import { storeFailure } from "./sqlite-failure.ts";

/** Refuses what can never be a store: an empty path, one of SQLite's special names, a URI. */
export function assertStorePath(path: string): void {
  if (typeof path !== "string" || path === "") {
    throw new InvalidArgumentError("path", path, "must be the path of a file");
  }
  if (path.includes("\0")) throw new InvalidArgumentError("path", path, "must not hold NUL");
  if (path === ":memory:" || path.startsWith("file:")) {
    throw new InvalidArgumentError(
      "path",
      path,
      "must be a plain path; for a store in memory use memory:",
    );
  }
}

/** Makes sure that a file can be opened or made at `path`, and says what is in the way. */
export function prepareFolder(path: string, mayCreateFolder: boolean): void {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file?.isDirectory() === true) throw storeFailure(`${path} is a folder, not a file`);
  if (file !== undefined) return;
  const folder = dirname(path);
  const parent = statSync(folder, { throwIfNoEntry: false });
  if (parent?.isDirectory() === true) return;
  if (parent !== undefined) throw storeFailure(`${folder} is not a folder`);
  if (!mayCreateFolder) throw storeFailure(`the folder ${folder} does not exist; create it first`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/** Which file stands at `path` now: its device and inode, `undefined` when there is none. */
export function fileIdentity(path: string): string | undefined {
  const file = statSync(path, { throwIfNoEntry: false });
  return file === undefined ? undefined : `${file.dev}:${file.ino}`;
}
