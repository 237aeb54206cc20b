import { spawn } from "node:child_process";
import { ROOT } from "./check.ts";

export interface ProgramResult {
  /** Null when a signal ended the program. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  /** Default: the root of the repository. */
  readonly cwd?: string;
  /** Default: this process's environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** The program is killed after this time. Default: five minutes. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS_DEFAULT = 300_000;

/** Runs a program to its end and collects what it wrote. Rejects only when it cannot start. */
export function runProgram(
  command: string,
  words: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ProgramResult>();
  const program = spawn(command, words, {
    cwd: options.cwd ?? ROOT,
    env: options.env ?? process.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  // A timer of our own: that of spawn outlives a program that could not be started.
  const timer = setTimeout(() => program.kill("SIGKILL"), options.timeoutMs ?? TIMEOUT_MS_DEFAULT);
  let stdout = "";
  let stderr = "";
  program.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  program.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  program.once("error", (error) => {
    clearTimeout(timer);
    reject(error);
  });
  program.once("close", (code) => {
    clearTimeout(timer);
    resolve({ code, stdout, stderr });
  });
  return promise;
}

/** Runs a tool of node_modules/.bin; its output is the problem when it does not exit with 0. */
export async function problemsOf(tool: string, words: readonly string[]): Promise<string[]> {
  const result = await runProgram(`${ROOT}node_modules/.bin/${tool}`, words);
  if (result.code === 0) return [];
  const output = `${result.stdout}${result.stderr}`.trim();
  return [output === "" ? `${tool} ended with ${result.code} and said nothing` : output];
}
