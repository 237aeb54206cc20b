import type { Finding } from "./check.ts";
import { ROOT } from "./check.ts";
import { runProgram } from "./program.ts";

const COMPILER = `${ROOT}node_modules/@typescript/native/bin/tsc`;

async function compile(words: readonly string[]): Promise<string[]> {
  const result = await runProgram(process.execPath, [COMPILER, ...words, "--pretty", "false"]);
  return result.code === 0 ? [] : [`tsc ${words.join(" ")}\n${result.stdout}${result.stderr}`];
}

/** Builds the packages, then checks the types of tests, scripts, bench and examples. */
export async function checkTypes(): Promise<Finding> {
  const shipped = await compile(["-b", "packages/library", "packages/server"]);
  const others = await compile(["-p", "tsconfig.json"]);
  return { problems: [...shipped, ...others], note: "tsc -b of the packages, tsc -p of the rest" };
}
