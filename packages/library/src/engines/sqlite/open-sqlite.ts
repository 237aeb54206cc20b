import { resolve } from "node:path";

import type { DurationMs } from "../../core/scalars.ts";
import type { Engine } from "../../engine/contract.ts";
import { GroupCommit } from "../../engine/group-commit.ts";
import type { Clock, Entropy } from "../../time/clock.ts";
import { readHostTime, type HostTime } from "../../time/host-time.ts";
import { systemClock } from "../../time/system-clock.ts";
import { createSystemEntropy } from "../../time/system-entropy.ts";
import { bellFolderOf } from "./bell-name.ts";
import { BellTower } from "./bell-tower.ts";
import { callerBlockMs, CallerLink } from "./caller-link.ts";
import { SqliteDriver } from "./sqlite-driver.ts";
import { assertStorePath } from "./store-file.ts";
import { WorkerLink } from "./worker-link.ts";

export interface SqliteOptions {
  /**
   * Where transactions run. `"worker"` (default): in a thread of their own, so that a slow flush
   * stalls nobody. `"caller"`: on the calling thread, for commands that do one thing and end.
   */
  readonly thread?: "worker" | "caller" | undefined;
  /** Whether a missing folder of the file is made; default false. For the default store. */
  readonly createFolder?: boolean | undefined;
  /** How long a call without a deadline waits for a busy store, in ms; default 5000. */
  readonly patienceMs?: DurationMs | undefined;
  /** Records remembered between decisions; default 10,000. */
  readonly cacheEntriesMax?: number | undefined;
  /** Timers and deadlines; default the system's. Engine time is the host's in any case. */
  readonly clock?: Clock | undefined;
  readonly entropy?: Entropy | undefined;
  /** What engine time is made of; default the host's. For tests, on the caller's thread only. */
  readonly time?: HostTime | undefined;
}

const patienceMsDefault = 5000;

/**
 * Opens the store in the SQLite file at `path`, which is made when it is absent.
 *
 * Rejects with `InvalidArgumentError` for a path that can never be a store, and with
 * `EngineUnavailableError` when the file cannot be opened, is damaged, no database, or of an
 * unknown format. One engine per file and process is enough: calls that wait at the same time
 * share one transaction.
 */
export async function openSqlite(path: string, options: SqliteOptions = {}): Promise<Engine> {
  assertStorePath(path);
  const file = resolve(path);
  const clock = options.clock ?? systemClock;
  const entropy = options.entropy ?? createSystemEntropy();
  const patienceMs = options.patienceMs ?? patienceMsDefault;
  const time = options.time ?? readHostTime();
  const createFolder = options.createFolder ?? false;
  const folder = bellFolderOf(file);
  const host = { path: file, bellFolder: folder, createFolder };
  const link =
    options.thread === "caller"
      ? new CallerLink({ ...host, blockMsMax: callerBlockMs }, { time, entropy, clock })
      : new WorkerLink({ ...host, blockMsMax: Infinity });
  const bells = new BellTower({ folder, clock, dataVersion: () => link.dataVersion() });
  const driver = new SqliteDriver({ link, time, bells });
  try {
    await driver.open(patienceMs);
  } catch (error) {
    await driver.close();
    throw error;
  }
  const { cacheEntriesMax } = options;
  return new GroupCommit(driver, clock, { patienceMs, cacheEntriesMax });
}
