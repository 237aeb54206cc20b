import type { RunResult } from "../../packages/library/test/results/run-result.ts";
import { FIGURES, PAGE, verificationPage } from "../verification-page.ts";
import type { Finding } from "./check.ts";
import { readText } from "./sources.ts";

/** Compares the page of figures with what its command makes of the stored figures. */
export function checkVerification(): Promise<Finding> {
  const results = JSON.parse(readText(FIGURES)) as readonly RunResult[];
  const isSame = readText(PAGE) === verificationPage(results);
  const problems = isSame ? [] : [`${PAGE} is not what npm run verify:report makes of ${FIGURES}`];
  for (const { run, failures } of results) {
    if (failures.length > 0) problems.push(`${FIGURES}: the run ${run} has failed`);
  }
  return Promise.resolve({ problems, note: `${results.length} runs` });
}
