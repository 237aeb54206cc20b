import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The runs that leave figures behind, one file each. */
type RunName = "explorer" | "mutants" | "models" | "simulation" | "histories" | "resource";

/** A figure as it is printed; lists and objects are taken apart before. */
type Figure = number | string | boolean;

export interface FigureTable {
  readonly name: string;
  /** The figures of each row, by the name of their column; rows of one table have the same. */
  readonly rows: readonly Readonly<Record<string, Figure>>[];
}

/**
 * What one run of a verification has found, as it is stored in
 * `node_modules/.cache/leasehold-verify/RUN.json` and read by `npm run verify:report`.
 */
export interface RunResult {
  readonly v: 1;
  readonly run: RunName;
  /** The command that was run, as a reader could repeat it. */
  readonly command: string;
  readonly tables: readonly FigureTable[];
  /** What was found to be wrong; empty when the run passed. */
  readonly failures: readonly string[];
}

export const resultFolder: string = fileURLToPath(
  new URL("../../../../node_modules/.cache/leasehold-verify/", import.meta.url),
);

/**
 * Stores the figures of a run, and prints them as one line of JSON. A run with failures sets the
 * exit code of its process to 1.
 */
export function reportRun(result: Omit<RunResult, "v" | "command">): void {
  const command = ["node", ...process.execArgv, ...process.argv.slice(1).map(fromRoot)].join(" ");
  const { run, tables, failures } = result;
  const whole: RunResult = { v: 1, run, command, tables, failures };
  mkdirSync(resultFolder, { recursive: true });
  writeFileSync(`${resultFolder}${run}.json`, `${JSON.stringify(whole, null, 2)}\n`);
  process.stdout.write(`${JSON.stringify(whole)}\n`);
  if (failures.length > 0) process.exitCode = 1;
}

function fromRoot(word: string): string {
  return word.replace(/^.*(?=packages\/library\/test\/)/, "");
}
