import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { HandoverReport } from "./handover-child.ts";
import { figure, median, quantile } from "./measure.ts";
import type { Result } from "./result.ts";
import { inScratch } from "./scratch.ts";

const processes = 2;
const child = fileURLToPath(new URL("handover-child.ts", import.meta.url));

interface Round {
  /** Real changes of holder per second, whichever process they cross. */
  readonly changes: number;
  readonly p99Ms: number;
  /** Grants of the least served waiter to those of the most served. */
  readonly fairness: number;
}

/** One hot lock, two processes with eight waiters each; against polling a row in the same file. */
export async function handover(rounds: number, ms: number): Promise<readonly Result[]> {
  const ours: Round[] = [];
  const peers: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    ours.push(await oneRound("ours", ms));
    peers.push(await oneRound("one-commit", ms));
  }
  const own = median(ours.map(({ changes }) => changes));
  const theirs = median(peers.map(({ changes }) => changes));
  return [
    {
      case: "handover",
      ours: figure(own),
      peer: "one-commit",
      peerRate: figure(theirs),
      // A peer that never changed its holder counts as one change a round: a lower bound.
      ratio: figure(own / Math.max(theirs, 1_000 / ms)),
      p99Ms: figure(median(ours.map(({ p99Ms }) => p99Ms))),
      peerP99Ms: figure(median(peers.map(({ p99Ms }) => p99Ms))),
      leastToMost: figure(median(ours.map(({ fairness }) => fairness))),
      peerLeastToMost: figure(median(peers.map(({ fairness }) => fairness))),
    },
  ];
}

function oneRound(who: string, ms: number): Promise<Round> {
  return inScratch(async (folder) => {
    const path = join(folder, "hot.db");
    const children: ChildProcess[] = [];
    try {
      for (let i = 0; i < processes; i += 1) {
        const started = fork(child, [who, path, String(ms)], { execArgv: process.execArgv });
        children.push(started);
        await once(started, "message");
      }
      const reports = children.map(async (each) => (await once(each, "message"))[0]);
      for (const each of children) each.send("go");
      return summarise((await Promise.all(reports)) as HandoverReport[], ms);
    } finally {
      for (const each of children) each.kill("SIGKILL");
    }
  });
}

function summarise(reports: readonly HandoverReport[], ms: number): Round {
  const log = reports.flatMap((report) => report.log).toSorted(([a], [b]) => a - b);
  const changes = log.filter(([, owner], i) => i > 0 && owner !== log[i - 1]?.[1]).length;
  const served = reports.flatMap((report) => report.served);
  return {
    changes: (changes / ms) * 1_000,
    p99Ms: quantile(
      reports.flatMap((report) => report.waitsMs),
      0.99,
    ),
    fairness: Math.min(...served) / Math.max(1, ...served),
  };
}
