import { explore } from "./explorer.ts";
import { production } from "./machine.ts";
import { smallWorlds } from "./worlds.ts";

/** Runs the explorer and prints one line of JSON for each world. `--long` takes larger bounds. */
const only = process.argv.find((each) => each.startsWith("--world="))?.slice(8);
const isLong = process.argv.includes("--long");
for (const world of smallWorlds) {
  if (only !== undefined && !world.name.includes(only)) continue;
  const report = explore(
    { machine: production, world },
    { statesMax: isLong ? 10_000_000 : 300_000, isLivenessAsked: true },
  );
  console.log(JSON.stringify(report));
  if (report.failure !== null) process.exitCode = 1;
}
