// Code in README.md and docs/ is compiled and run, so that it cannot be wrong for long.
//   ```ts run            runs as a module; `leasehold` is the built package
//   ```sh run exit=7     runs by `sh -e` in an empty folder and must end with 7 (default 0)
//   ```text output       after either: the standard output, where … stands for any text
//   ```ts norun: why     is not run, and says why
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Finding } from "./check.ts";
import { ROOT } from "./check.ts";
import type { Fence } from "./markdown.ts";
import { fencesIn } from "./markdown.ts";
import type { ProgramResult } from "./program.ts";
import { runProgram } from "./program.ts";
import { readText, repositoryFiles } from "./sources.ts";

const SCRIPTS = new Set(["sh", "bash", "shell", "console"]);
const MODULES = new Set(["ts", "typescript", "js", "javascript"]);
const BLOCK_MS_MAX = 120_000;
/** A reason has at least this many words after `norun`. */
const REASON_WORDS_MIN = 2;

/** What a block must do: end with a code and, if told, print a text. */
interface Expectation {
  readonly fence: Fence;
  readonly exitCode: number;
  readonly output: string | undefined;
}

function isCode(fence: Fence): boolean {
  return SCRIPTS.has(fence.language) || MODULES.has(fence.language);
}

function isRun(fence: Fence): boolean {
  return isCode(fence) && fence.words.includes("run");
}

/** Code that is neither run nor excused. */
function isSilent(fence: Fence): boolean {
  if (!isCode(fence) || isRun(fence)) return false;
  const at = fence.words.findIndex((word) => /^norun:?$/.test(word));
  return at === -1 || fence.words.length - at - 1 < REASON_WORDS_MIN;
}

function expectationOf(fence: Fence, next: Fence | undefined): Expectation {
  const exit = fence.words.find((word) => word.startsWith("exit="))?.slice("exit=".length);
  const isOutput = next?.language === "text" && next.words.includes("output");
  return { fence, exitCode: Number(exit ?? 0), output: isOutput ? next.text : undefined };
}

/** True when the texts are equal but for what each `…` stands for. */
function matches(expected: string, actual: string): boolean {
  const parts = expected.trim().split("…");
  const pattern = parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*?");
  return new RegExp(`^${pattern}$`, "s").test(actual.trim());
}

/** An environment in which `leasehold` works and nothing of this user or of npm shows. */
function cleanEnvironment(home: string): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|LEASEHOLD_|NODE_OPTIONS$|NODE_ENV$|VITEST|TEST$)/i.test(name),
  );
  const path = `${ROOT}node_modules/.bin:${process.env["PATH"] ?? ""}`;
  const state = join(home, "state");
  return { ...Object.fromEntries(inherited), PATH: path, HOME: home, XDG_STATE_HOME: state };
}

/** Runs a block in an empty folder of its own whose packages are those of the repository. */
async function runFence(fence: Fence): Promise<ProgramResult> {
  const world = mkdtempSync(join(tmpdir(), "leasehold-docs-"));
  try {
    const folder = join(world, "work");
    const home = join(world, "home");
    mkdirSync(folder);
    mkdirSync(home);
    // Beside the working folder: found by imports and by npx, yet not in the way of `ls`.
    symlinkSync(`${ROOT}node_modules`, join(world, "node_modules"));
    writeFileSync(join(world, "package.json"), '{ "private": true, "type": "module" }\n');
    const options = { cwd: folder, env: cleanEnvironment(home), timeoutMs: BLOCK_MS_MAX };
    if (SCRIPTS.has(fence.language)) {
      return await runProgram("sh", ["-e", "-c", fence.text], options);
    }
    const file = join(world, "example.ts");
    writeFileSync(file, fence.text);
    const compiled = await compile(world, options.env);
    return compiled.code === 0 ? await runProgram(process.execPath, [file], options) : compiled;
  } finally {
    rmSync(world, { recursive: true, force: true });
  }
}

/** Checks the types of the example in a folder, against the built packages as users see them. */
function compile(world: string, env: NodeJS.ProcessEnv): Promise<ProgramResult> {
  const compilerOptions = { customConditions: [], noUnusedLocals: false, types: ["node"] };
  const config = {
    extends: `${ROOT}tsconfig.json`,
    compilerOptions,
    include: ["example.ts"],
  };
  writeFileSync(join(world, "tsconfig.json"), JSON.stringify(config));
  const compiler = `${ROOT}node_modules/@typescript/native/bin/tsc`;
  return runProgram(process.execPath, [compiler, "--pretty", "false"], { cwd: world, env });
}

async function problemsOfRun(expectation: Expectation): Promise<readonly string[]> {
  const { fence, exitCode, output } = expectation;
  const result = await runFence(fence);
  const place = `${fence.path}:${fence.line}`;
  const said = `${result.stdout}${result.stderr}`.trim();
  if (result.code !== exitCode) {
    return [`${place} ended with ${result.code}, not ${exitCode}\n${said}`];
  }
  if (output !== undefined && !matches(output, result.stdout)) {
    return [`${place} printed another text than its output block\n${said}`];
  }
  return [];
}

/** Runs the code blocks of README.md and docs/. */
export async function checkDocsCode(): Promise<Finding> {
  const pages = (await repositoryFiles()).filter((path) =>
    /^(README|(docs|examples)\/.*)\.md$/.test(path),
  );
  const problems: string[] = [];
  let ran = 0;
  for (const fences of pages.map((path) => fencesIn(path, readText(path)))) {
    for (const [at, fence] of fences.entries()) {
      if (isSilent(fence)) {
        problems.push(`${fence.path}:${fence.line} needs "run", or "norun: " and a reason`);
      }
      if (!isRun(fence)) continue;
      ran++;
      problems.push(...(await problemsOfRun(expectationOf(fence, fences[at + 1]))));
    }
  }
  return { problems, note: `${ran} blocks run on ${pages.length} pages` };
}
