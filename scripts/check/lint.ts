import type { Finding } from "./check.ts";
import { problemsOf } from "./program.ts";

/** Runs the linter with types; a warning fails like an error. */
export async function checkLint(): Promise<Finding> {
  const problems = await problemsOf("oxlint", ["--type-aware", "--deny-warnings"]);
  return { problems, note: "oxlint, type-aware" };
}
