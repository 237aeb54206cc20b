import { existsSync } from "node:fs";
import type { Finding } from "./check.ts";
import { ROOT } from "./check.ts";
import { runProgram } from "./program.ts";

interface CruiseSummary {
  readonly totalCruised: number;
  readonly violations: readonly {
    readonly from: string;
    readonly to: string;
    readonly rule: { readonly name: string };
  }[];
}

/** Below this, the cruiser has not understood the sources and its "no violations" is worthless. */
const MODULES_MIN = 5;
const FOLDERS = ["packages", "scripts", "test", "bench", "examples"];

/** Checks who imports whom, by the rules in `.dependency-cruiser.mjs`. */
export async function checkDependencies(): Promise<Finding> {
  const folders = FOLDERS.filter((folder) => existsSync(ROOT + folder));
  const words = ["--config", ".dependency-cruiser.mjs", "--output-type", "json", ...folders];
  const result = await runProgram(`${ROOT}node_modules/.bin/depcruise`, words);
  if (!result.stdout.startsWith("{")) {
    return { problems: [`${result.stdout}${result.stderr}`.trim()], note: "depcruise failed" };
  }
  const { summary } = JSON.parse(result.stdout) as { readonly summary: CruiseSummary };
  const problems = summary.violations.map(
    (violation) => `${violation.from} must not import ${violation.to} (${violation.rule.name})`,
  );
  if (summary.totalCruised < MODULES_MIN) {
    problems.push(`only ${summary.totalCruised} modules were read, at least ${MODULES_MIN} exist`);
  }
  return { problems, note: `${summary.totalCruised} modules cruised` };
}
