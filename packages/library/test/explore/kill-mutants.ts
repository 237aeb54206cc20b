import { readFile, writeFile } from "node:fs/promises";
import { explore, type Report } from "./explorer.ts";
import { exploreFence, fenceWorld } from "./fence-world.ts";
import type { Machine } from "./machine.ts";
import { machineOf } from "./mutant-machine.ts";
import type { Mutant } from "./mutant.ts";
import { mutants } from "./mutants.ts";
import { smallWorlds } from "./worlds.ts";
import { reportRun } from "../results/run-result.ts";

/**
 * Runs every mutant until an invariant kills it, and compares the kill table with the stored one by
 * mutant and invariant. `--write` stores it; `--only=M12` runs one and prints its trace.
 */
interface Kill {
  readonly mutant: string;
  readonly what: string;
  readonly invariant: string;
  readonly world: string;
  readonly states: number;
  readonly traceLength: number;
}

const table = new URL("kill-table.json", import.meta.url);
const only = process.argv.find((each) => each.startsWith("--only="))?.slice(7);
/** States after which a world has not killed a mutant. */
const statesMax = 150_000;

/** Explorations of the worlds that begin with a text, one at a time. */
function* reportsOf(machine: Machine, wanted: string): Generator<Report> {
  if (fenceWorld.startsWith(wanted)) yield exploreFence(machine);
  for (const world of smallWorlds) {
    if (!world.name.startsWith(wanted)) continue;
    yield explore({ machine, world }, { statesMax, isLivenessAsked: true });
  }
}

async function kill(mutant: Mutant): Promise<Kill | null> {
  const machine = await machineOf(mutant);
  for (const report of reportsOf(machine, mutant.world)) {
    if (report.failure === null) continue;
    const { broken, trace } = report.failure;
    if (only !== undefined) console.log(`${broken}\n  ${trace.join("\n  ")}`);
    return {
      mutant: mutant.id,
      what: mutant.what,
      invariant: broken.split(":", 1)[0] as string,
      world: report.world,
      states: report.states,
      traceLength: trace.length,
    };
  }
  return null;
}

const kills: Kill[] = [];
const problems: string[] = [];
for (const mutant of mutants) {
  if (only !== undefined && mutant.id !== only) continue;
  const found = await kill(mutant);
  if (found === null) problems.push(`${mutant.id} survives: ${mutant.what}`);
  else kills.push(found);
  if (found !== null && !mutant.killers.includes(found.invariant)) {
    problems.push(
      `${mutant.id} was killed by ${found.invariant}, not ${mutant.killers.join(", ")}`,
    );
  }
}
if (process.argv.includes("--write")) {
  await writeFile(table, `${JSON.stringify(kills, null, 2)}\n`);
} else if (only === undefined) {
  const stored = JSON.parse(await readFile(table, "utf8")) as readonly Kill[];
  const pairs = (rows: readonly Kill[]): string =>
    rows.map(({ mutant, invariant }) => `${mutant} ${invariant}`).join(", ");
  if (pairs(stored) !== pairs(kills)) {
    problems.push(`the kill table has changed; stored: ${pairs(stored)}; now: ${pairs(kills)}`);
  }
}
if (only === undefined) {
  const rows = kills.map(({ mutant, what, invariant, world, states, traceLength }) => {
    return { mutant, what, invariant, world, states, "steps of the trace": traceLength };
  });
  reportRun({ run: "mutants", failures: problems, tables: [{ name: "mutants", rows }] });
} else if (problems.length > 0) {
  console.log(problems.join("\n"));
  process.exitCode = 1;
}
