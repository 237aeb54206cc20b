import { explore } from "./explorer.ts";
import { exploreFence, fenceWorld } from "./fence-world.ts";
import { production } from "./machine.ts";
import { reportRun } from "../results/run-result.ts";
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
const explorations = [
  ...worlds.map((world) => ({
    name: world.name,
    run: () => explore({ machine: production, world }, { statesMax, isLivenessAsked: true }),
  })),
  { name: fenceWorld, run: () => exploreFence(production) },
];
const reports = explorations
  .filter(({ name }) => name.startsWith(wanted))
  .map(({ run }) => {
    const report = run();
    console.log(JSON.stringify(report));
    return report;
  });
reportRun({
  run: "explorer",
  failures: reports.flatMap(({ world, failure }) =>
    failure === null ? [] : [`${world}: ${failure.broken}`],
  ),
  tables: [
    {
      name: "worlds",
      rows: reports.map(({ world, states, edges, depth, seconds, isComplete }) => {
        return { world, states, edges, depth, seconds, "all states": isComplete };
      }),
    },
  ],
});
