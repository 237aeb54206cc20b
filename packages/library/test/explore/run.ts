import { explore } from "./explorer.ts";
import { exploreFence, fenceWorld } from "./fence-world.ts";
import { production } from "./machine.ts";
import { longWorlds, smallWorlds } from "./worlds.ts";

/**
 * Runs the explorer and prints one line of JSON for each world: states, edges, depth, seconds and
 * the shortest trace to a broken invariant, if there is one.
 *
 *     node --conditions=leasehold-src packages/library/test/explore/run.ts
 *         [--long] [--states=10000000] [--world=2:]
 */
function option(name: string): string | undefined {
  return process.argv.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3);
}

const worlds = process.argv.includes("--long") ? [...smallWorlds, ...longWorlds] : smallWorlds;
const statesMax = Number(option("states") ?? 10_000_000);
const wanted = option("world") ?? "";
if (fenceWorld.startsWith(wanted)) {
  const report = exploreFence(production);
  console.log(JSON.stringify(report));
  if (report.failure !== null) process.exitCode = 1;
}
for (const world of worlds) {
  if (!world.name.startsWith(wanted)) continue;
  const stage = { machine: production, world };
  const report = explore(stage, { statesMax, isLivenessAsked: true });
  console.log(JSON.stringify(report));
  if (report.failure !== null) process.exitCode = 1;
}
