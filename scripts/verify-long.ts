import { spawnSync } from "node:child_process";

/**
 * The long verifications, in the order of what they cost to be told of a failure: the second
 * opinions, the explorer and its mutants, many simulated runs, the fenced resource, long histories
 * of real processes. Each prints lines of JSON and leaves its figures for `npm run verify:report`;
 * the first failure ends the run. `npm run verify:long -- --runs 10000` passes its arguments to the
 * simulation.
 */
const conditions = "--conditions=leasehold-src";
const tests = "packages/library/test";
const steps: readonly (readonly string[])[] = [
  [`${tests}/models/run.ts`],
  [`${tests}/explore/run.ts`, "--long"],
  [`${tests}/explore/kill-mutants.ts`],
  [
    `${tests}/sim/run.ts`,
    ...(process.argv.length > 2 ? process.argv.slice(2) : ["--runs", "5000"]),
  ],
  [`${tests}/history/resource-run.ts`],
  [`${tests}/history/run.ts`, "--processes", "8", "--clients", "100", "--minutes", "10"],
];
for (const [program = "", ...given] of steps) {
  process.stdout.write(`\n${program} ${given.join(" ")}\n`);
  const { status } = spawnSync(process.execPath, [conditions, program, ...given], {
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}
