// `npm run verify:report` takes the figures that the last runs of `npm run verify:long` have left,
// puts them into docs/verification.json beside those of runs that were not made anew, and writes
// docs/verification.md from them.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resultFolder, type RunResult } from "../packages/library/test/results/run-result.ts";
import { ROOT } from "./check/check.ts";
import { FIGURES, PAGE, verificationPage, withNewer } from "./verification-page.ts";

function readResult(path: string): RunResult {
  return JSON.parse(readFileSync(path, "utf8")) as RunResult;
}

function freshResults(): readonly RunResult[] {
  if (!existsSync(resultFolder)) return [];
  const files = readdirSync(resultFolder).filter((name) => name.endsWith(".json"));
  return files.toSorted().map((name) => readResult(resultFolder + name));
}

const stored = existsSync(ROOT + FIGURES)
  ? (JSON.parse(readFileSync(ROOT + FIGURES, "utf8")) as readonly RunResult[])
  : [];
const results = withNewer(stored, freshResults());
writeFileSync(ROOT + FIGURES, `${JSON.stringify(results, null, 2)}\n`);
writeFileSync(ROOT + PAGE, verificationPage(results));
console.log(`${PAGE}: ${results.map(({ run }) => run).join(", ")}`);
