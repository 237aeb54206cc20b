import { join } from "node:path";

import { open } from "leasehold";

import { closedLoop, figure, median, nextTurn } from "./measure.ts";
import { OneCommitLock } from "./peers/one-commit.ts";
import type { Result } from "./result.ts";
import { inScratch } from "./scratch.ts";

interface Drain {
  readonly perSecond: number;
  readonly orderBreaks: number;
  /** Single transactions per second in the same round. */
  readonly commits: number;
}

/** Waiters of one process behind a holder, then handed on one by one to the last. */
export async function queue(depth: number, rounds: number): Promise<readonly Result[]> {
  const drains: Drain[] = [];
  for (let round = 0; round < rounds; round += 1) drains.push(await oneDrain(depth));
  const ours = median(drains.map(({ perSecond }) => perSecond));
  const theirs = median(drains.map(({ commits }) => commits));
  return [
    {
      case: `queue-${depth}`,
      ours: figure(ours),
      peer: "one-commit",
      peerRate: figure(theirs),
      ratio: figure(ours / theirs),
      orderBreaks: Math.max(...drains.map(({ orderBreaks }) => orderBreaks)),
      usPerHandover: figure(1e6 / ours),
    },
  ];
}

function oneDrain(depth: number): Promise<Drain> {
  return inScratch(async (folder) => {
    const byHand = new OneCommitLock(join(folder, "peer.db"));
    // A cycle of the peer is two transactions.
    const commits = 2 * (await closedLoop(byHand.cycle, 1, 300));
    byHand.close();
    await using space = await open(`sqlite:${join(folder, "ours.db")}`);
    const first = await space.acquire("hot");
    const order: number[] = [];
    const waiting = Array.from({ length: depth }, async (_, place) => {
      const lease = await space.acquire("hot", { wait: Infinity });
      order.push(place);
      await lease.release();
    });
    while ((await space.status("hot")).depth < depth) await nextTurn();
    const startMs = performance.now();
    await first.release();
    await Promise.all(waiting);
    const perSecond = (depth / (performance.now() - startMs)) * 1_000;
    const orderBreaks = order.filter((place, i) => i > 0 && place < (order[i - 1] ?? 0)).length;
    return { perSecond, orderBreaks, commits };
  });
}
