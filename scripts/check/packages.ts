import type { Finding } from "./check.ts";
import { problemsOf } from "./program.ts";

const PACKAGES = ["packages/library", "packages/server"];

/** Checks each package as it would be published: its manifest, its files and its types. */
export async function checkPackages(): Promise<Finding> {
  const problems: string[] = [];
  for (const folder of PACKAGES)
    problems.push(...(await problemsOf("publint", ["--strict", folder])));
  // The server has only a command, and so no types to resolve.
  problems.push(
    ...(await problemsOf("attw", ["--pack", "packages/library", "--profile", "esm-only"])),
  );
  return { problems, note: `publint of ${PACKAGES.join(", ")}; attw of packages/library` };
}
