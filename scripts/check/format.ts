import type { Finding } from "./check.ts";
import { problemsOf } from "./program.ts";

/** Compares every file with what the formatter would write; `npm run format` writes it. */
export async function checkFormat(): Promise<Finding> {
  return { problems: await problemsOf("oxfmt", ["--check"]), note: "oxfmt --check" };
}
