import { expect, test } from "vitest";
import type { RunResult } from "../packages/library/test/results/run-result.ts";
import { verificationPage, withNewer } from "../scripts/verification-page.ts";

function resultOf(run: RunResult["run"], states: number): RunResult {
  const rows = [{ world: "a|b", states, "all states": true }];
  return { v: 1, run, command: "node it", tables: [{ name: "worlds", rows }], failures: [] };
}

test("the page has the stored figures in a table, and says what was not run", () => {
  const page = verificationPage([resultOf("explorer", 1_234_567)]);
  expect(page).toContain("| world | states | all states |\n| --- | ---: | --- |");
  expect(page).toContain("| a\\|b | 1 234 567 | yes |");
  expect(page).toContain("Command: `node it`. Nothing was found to be wrong.");
  expect(page).toMatch(/^Not run: .*Recorded histories/m);
  expect(page).not.toContain("## Recorded histories");
});

test("the page tells what a run has found to be wrong", () => {
  const failed = { ...resultOf("models", 1), failures: ["a mutant is not found"] };
  expect(verificationPage([failed])).toContain("Found to be wrong: a mutant is not found.");
});

test("newer figures replace those of the same run and leave the others", () => {
  const stored = [resultOf("explorer", 1), resultOf("models", 2)];
  const merged = withNewer(stored, [resultOf("models", 3)]);
  expect(merged).toEqual([resultOf("explorer", 1), resultOf("models", 3)]);
});
