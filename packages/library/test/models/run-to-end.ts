import { spawn } from "node:child_process";

export interface RunOptions {
  readonly cwd?: string | undefined;
  /** Written to its standard input. Default: nothing. */
  readonly input?: string | undefined;
}

const programMsMax = 30 * 60_000;

/** Runs a program to its end and gives what it printed; rejects unless it ends with 0. */
export function runToEnd(
  command: string,
  words: readonly string[],
  { cwd, input = "" }: RunOptions = {},
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const program = spawn(command, words, { cwd, timeout: programMsMax, killSignal: "SIGKILL" });
  let output = "";
  program.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  program.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  program.once("error", reject);
  program.once("close", (code) => {
    if (code === 0) resolve(output);
    else reject(new Error(`${command} ended with ${code}: ${output.slice(0, 2_000)}`));
  });
  program.stdin.end(input);
  return promise;
}
