import { join } from "node:path";

import lockfile from "proper-lockfile";

import type { Cycle } from "../measure.ts";

/** `proper-lockfile`: a folder per lock, renewed by touching it; no durability, no queue. */
export function lockFileCycle(folder: string): Cycle {
  return async (caller, turn) => {
    const path = join(folder, `lock-${caller}-${turn & 31}`);
    const release = await lockfile.lock(path, { realpath: false });
    await release();
  };
}
