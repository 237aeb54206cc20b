import type { Finding } from "./check.ts";
import { problemsOf } from "./program.ts";

/** Finds files, exports and dependencies that nothing uses. */
export async function checkDeadCode(): Promise<Finding> {
  return { problems: await problemsOf("knip", ["--no-progress"]), note: "knip" };
}
