import { join } from "node:path";

import { open, type Lease } from "leasehold";

import { figure, heapBytes, quantile, nextTurn } from "./measure.ts";
import { inScratch } from "./scratch.ts";

export interface HeldReport {
  readonly leases: number;
  readonly bytesPerLease: number;
  readonly bytesPerWaiter: number;
  /** How late a 10 ms timer of the same process came while all leases were renewed. */
  readonly timerLateP99Ms: number;
  readonly timerLateMaxMs: number;
  readonly renewed: number;
  readonly lost: number;
  readonly firstThousandMs: number;
  readonly lastThousandMs: number;
}

const leaseMs = 30_000;
const timerMs = 10;

/** Very many leases of one process: what each costs, and whether renewing them disturbs it. */
export function held(count: number, waiters: number): Promise<HeldReport> {
  return inScratch(async (folder) => {
    await using space = await open(`sqlite:${join(folder, "held.db")}`);
    let renewed = 0;
    let lost = 0;
    space.on("renewed", () => (renewed += 1));
    space.on("lost", () => (lost += 1));
    await space.acquire("first");
    const before = heapBytes();
    const leases: Lease[] = [];
    const thousandsMs: number[] = [];
    while (leases.length < count) {
      const startMs = performance.now();
      const from = leases.length;
      const part = Array.from({ length: 1_000 }, (_, i) =>
        space.acquire(`held-${from + i}`, { lease: leaseMs }),
      );
      leases.push(...(await Promise.all(part)));
      thousandsMs.push(performance.now() - startMs);
    }
    const bytesPerLease = (heapBytes() - before) / leases.length;
    const latenessMs = await watchTimer(leaseMs);
    const beforeWaiters = heapBytes();
    const stop = new AbortController();
    const waiting = Array.from({ length: waiters }, (_, i) =>
      space.acquire(`held-${i}`, { wait: Infinity, signal: stop.signal }).catch(() => undefined),
    );
    while ((await space.status(`held-${waiters - 1}`)).depth === 0) await nextTurn();
    const bytesPerWaiter = (heapBytes() - beforeWaiters) / waiters;
    stop.abort();
    await Promise.all(waiting);
    return {
      leases: leases.length,
      bytesPerLease: Math.round(bytesPerLease),
      bytesPerWaiter: Math.round(bytesPerWaiter),
      timerLateP99Ms: figure(quantile(latenessMs, 0.99)),
      timerLateMaxMs: figure(Math.max(...latenessMs)),
      renewed,
      lost,
      firstThousandMs: figure(thousandsMs[0] ?? Number.NaN),
      lastThousandMs: figure(thousandsMs.at(-1) ?? Number.NaN),
    };
  });
}

/** Lateness of each tick of a 10 ms timer over `ms`. */
async function watchTimer(ms: number): Promise<readonly number[]> {
  const lateness: number[] = [];
  const endMs = performance.now() + ms;
  while (performance.now() < endMs) {
    const dueMs = performance.now() + timerMs;
    await new Promise((resume) => setTimeout(resume, timerMs));
    lateness.push(Math.max(0, performance.now() - dueMs));
  }
  return lateness;
}
