// `npm run check` runs every check, `npm run check -- lint format` only those named.
import { CHECKS } from "./check/all.ts";
import type { Check } from "./check/check.ts";

function chosen(names: readonly string[]): readonly Check[] {
  const unknown = names.filter((name) => !CHECKS.some((check) => check.name === name));
  if (unknown.length > 0) {
    const known = CHECKS.map((check) => check.name).join(", ");
    throw new Error(`unknown check: ${unknown.join(", ")}; the checks are ${known}`);
  }
  return names.length === 0 ? CHECKS : CHECKS.filter((check) => names.includes(check.name));
}

/** Runs one check and prints its line; what it found wrong follows, indented. */
async function passes(check: Check): Promise<boolean> {
  const start = performance.now();
  const finding = await check.run();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const isClean = finding.problems.length === 0;
  const verdict = isClean ? "PASS" : "FAIL";
  console.log(`${verdict} ${check.name.padEnd(12)} ${seconds.padStart(5)} s  ${finding.note}`);
  for (const problem of finding.problems) console.log(`  ${problem.replaceAll("\n", "\n  ")}`);
  return isClean;
}

// One after another: most checks use every core on their own, and their output stays in order.
let failed = 0;
for (const check of chosen(process.argv.slice(2))) {
  if (!(await passes(check))) failed++;
}
if (failed > 0) {
  console.log(`${failed} ${failed === 1 ? "check" : "checks"} failed`);
  process.exitCode = 1;
}
