import { spawnSync } from "node:child_process";

/**
 * The long explorations, in the order of what they cost: the explorer in its large worlds, many
 * simulated runs, long histories of real processes. Each prints lines of JSON; the first failure
 * ends the run. `npm run verify:long -- --runs 10000` passes its arguments to the simulation.
 */
const conditions = "--conditions=leasehold-src";
const steps: readonly (readonly string[])[] = [
  ["packages/library/test/explore/run.ts", "--long"],
  [
    "packages/library/test/sim/run.ts",
    ...(process.argv.length > 2 ? process.argv.slice(2) : ["--runs", "5000"]),
  ],
  ["packages/library/test/history/run.ts"],
];
for (const [program = "", ...given] of steps) {
  process.stdout.write(`\n${program} ${given.join(" ")}\n`);
  const { status } = spawnSync(process.execPath, [conditions, program, ...given], {
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}
