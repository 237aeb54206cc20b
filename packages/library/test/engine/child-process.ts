import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("./sqlite-child.ts", import.meta.url));

export interface Child {
  readonly process: ChildProcess;
  /** What the child has said so far, line by line. */
  readonly said: unknown[];
  /** Resolves when the child has said `count` things. */
  saidAtLeast(count: number): Promise<void>;
  /** The exit code, or the signal that ended it. */
  readonly end: Promise<number | NodeJS.Signals>;
}

/** Starts a child that does `args`, behind `wrapper` (a command line before node's) if given. */
export function startChild(args: readonly string[], wrapper: readonly string[] = []): Child {
  const [command = "", ...rest] = [...wrapper, process.execPath, script, ...args];
  const child = spawn(command, rest, { stdio: ["ignore", "pipe", "inherit"] });
  const said: unknown[] = [];
  const waiting = new Set<() => void>();
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    said.push(JSON.parse(line));
    for (const wake of waiting) wake();
  });
  const end = Promise.all([once(child, "exit"), once(lines, "close")]).then(
    ([[code, signal]]) => (code ?? signal) as number | NodeJS.Signals,
  );
  const saidAtLeast = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        if (said.length < count) return;
        waiting.delete(wake);
        resolve();
      };
      waiting.add(wake);
      wake();
    });
  return { process: child, said, saidAtLeast, end };
}
