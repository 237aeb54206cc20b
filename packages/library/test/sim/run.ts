import { parseArgs } from "node:util";

import { reportRun } from "../results/run-result.ts";
import { simulate } from "./simulate.ts";

/**
 * Many simulated runs: `node --conditions=leasehold-src packages/library/test/sim/run.ts --runs N`.
 * Prints each failing seed, and one line of JSON at the end.
 */
const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
  },
});
const from = Number(values.from);
const runs = Number(values.runs);
const rare: Record<string, number> = {};
const failed: number[] = [];
const startMs = performance.now();
let commits = 0;
let grants = 0;
for (let seed = from; seed < from + runs; seed += 1) {
  const report = await simulate(seed);
  commits += report.commits;
  grants += report.grants;
  for (const [event, count] of report.rare) rare[event] = (rare[event] ?? 0) + count;
  if (report.violations.length === 0) continue;
  failed.push(seed);
  process.stdout.write(`seed ${seed}: ${report.violations.slice(0, 3).join("; ")}\n`);
}
const seconds = Math.round((performance.now() - startMs) / 1_000);
reportRun({
  run: "simulation",
  failures: failed.map((seed) => `seed ${seed}`),
  tables: [
    {
      name: "runs",
      rows: [{ runs, seeds: `${from} to ${from + runs - 1}`, commits, grants, seconds }],
    },
    {
      name: "rare events",
      rows: Object.entries(rare).map(([event, times]) => ({ event, times })),
    },
  ],
});
