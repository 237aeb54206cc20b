import { once } from "node:events";

import { open } from "leasehold";

import { OneCommitLock } from "./peers/one-commit.ts";

/**
 * One of two processes with eight waiters on one lock: acquire, release at once, again. Sends each
 * waiter's grants as `[instant, waiter]` and how long each acquire took.
 */
export interface HandoverReport {
  readonly log: readonly (readonly [number, string])[];
  readonly waitsMs: readonly number[];
  readonly served: readonly number[];
}

const [who, path, msText] = process.argv.slice(2) as [string, string, string];
const waiters = 8;
const name = "hot";

interface Held {
  release(): Promise<unknown>;
}

async function entrant(): Promise<{ acquire(owner: string): Promise<Held>; close(): unknown }> {
  if (who === "ours") {
    const space = await open(`sqlite:${path}`);
    return {
      acquire: () => space.acquire(name, { wait: "60s" }),
      close: () => space.close({ grace: "1s" }),
    };
  }
  const lock = new OneCommitLock(path);
  const acquire = async (owner: string): Promise<Held> => {
    while ((await lock.tryAcquire(name, owner)) === 0) {
      await new Promise((resume) => setTimeout(resume, 1 + Math.random() * 4));
    }
    return { release: () => lock.release(name, owner) };
  };
  return { acquire, close: () => lock.close() };
}

const rival = await entrant();
process.send?.("ready");
await once(process, "message");
const endMs = performance.now() + Number(msText);
const report = { log: [] as [number, string][], waitsMs: [] as number[], served: [] as number[] };
const state = { isOver: false };
const run = async (_: unknown, waiter: number): Promise<void> => {
  const owner = `${process.pid}/${waiter}`;
  let count = 0;
  while (!state.isOver && performance.now() < endMs) {
    const askedMs = performance.now();
    const held = await rival.acquire(owner);
    const gotMs = performance.now();
    if (!state.isOver && gotMs < endMs) {
      report.waitsMs.push(gotMs - askedMs);
      report.log.push([performance.timeOrigin + gotMs, owner]);
      count += 1;
      report.served[waiter] = count;
    }
    await held.release();
  }
};
await Promise.race([
  Promise.all(Array.from({ length: waiters }, run)),
  new Promise((resume) => setTimeout(resume, Number(msText) + 3_000)),
]);
state.isOver = true;
const served = Array.from({ length: waiters }, (_, waiter) => report.served[waiter] ?? 0);
process.send?.({ ...report, served } satisfies HandoverReport, () => {
  void Promise.resolve(rival.close()).finally(() => process.exit());
});
