import { join } from "node:path";

import { open } from "leasehold";

import { closedLoop, figure, median, type Cycle } from "./measure.ts";
import { lockFileCycle } from "./peers/lock-file.ts";
import { OneCommitLock } from "./peers/one-commit.ts";
import type { Result } from "./result.ts";
import { inScratch } from "./scratch.ts";

const concurrencies = [1, 16, 128, 1_024];

/** Acquire and release of free locks on names of their own, ours and the peers' by turns. */
export function uncontended(rounds: number, ms: number): Promise<readonly Result[]> {
  return inScratch(async (folder) => {
    await using space = await open(`sqlite:${join(folder, "ours.db")}`);
    const byHand = new OneCommitLock(join(folder, "peer.db"));
    const ours: Cycle = async (caller, turn) => {
      const lease = await space.acquire(`lock-${caller}-${turn & 31}`);
      await lease.release();
    };
    const peers = { "one-commit": byHand.cycle, "proper-lockfile": lockFileCycle(folder) };
    const results: Result[] = [];
    for (const callers of concurrencies) {
      results.push(...(await interleaved({ ours, peers, callers, rounds, ms })));
    }
    byHand.close();
    return results;
  });
}

interface Race {
  readonly ours: Cycle;
  readonly peers: Readonly<Record<string, Cycle>>;
  readonly callers: number;
  readonly rounds: number;
  readonly ms: number;
}

async function interleaved(race: Race): Promise<readonly Result[]> {
  const { ours, peers, callers, rounds, ms } = race;
  const rates = new Map<string, number[]>();
  const entrants: readonly (readonly [string, Cycle])[] = [
    ["ours", ours],
    ...Object.entries(peers),
  ];
  // Round -1 warms up; the order turns so that nobody always follows the same one.
  for (let round = -1; round < rounds; round += 1) {
    const turned = round % 2 === 0 ? entrants : entrants.toReversed();
    for (const [name, cycle] of turned) {
      const rate = await closedLoop(cycle, callers, round < 0 ? ms / 3 : ms);
      if (round >= 0) rates.set(name, [...(rates.get(name) ?? []), rate]);
    }
  }
  const own = rates.get("ours") ?? [];
  return Object.keys(peers).map((peer) => {
    const theirs = rates.get(peer) ?? [];
    const ratios = own.map((rate, round) => rate / (theirs[round] ?? Number.NaN));
    return {
      case: `uncontended-${callers}`,
      ours: figure(median(own)),
      peer,
      peerRate: figure(median(theirs)),
      ratio: figure(median(ratios)),
    };
  });
}
