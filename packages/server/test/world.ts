import { mkdtempSync, rmSync, writeFileSync, readFileSync, existsSync } from "node:fs";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { Space, SpaceOptions } from "leasehold";
import { open } from "leasehold";

export const launcher: string = fileURLToPath(new URL("../bin/leasehold.js", import.meta.url));

/** A test waits this long for something that ought to happen much sooner. */
const patienceMs = 30_000;
const lookMs = 10;
/** For tests with several such waits; they run beside each other, and beside those of others. */
export const timeout = 90_000;

/** What a command printed and how it ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that was started. */
export interface Started {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** What it has printed on standard error so far. */
  stderr(): string;
  stdout(): string;
  kill(signal: NodeJS.Signals): void;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string;
  readonly cwd?: string;
}

/** A folder with a store of its own; whatever was started in it is gone when it is disposed. */
export class World implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "leasehold-test-"));
  readonly storePath: string = join(this.folder, "locks.db");
  readonly store: string = `sqlite:${this.storePath}`;
  readonly #children: Set<ChildProcess> = new Set();
  readonly #spaces: Space[] = [];

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Starts `leasehold` with these words. */
  start(words: readonly string[], options: StartOptions = {}): Started {
    return this.startProgram(process.execPath, [launcher, ...words], options);
  }

  /** Runs `leasehold` to its end. */
  run(words: readonly string[], options: StartOptions = {}): Promise<Ended> {
    return this.start(words, options).ended;
  }

  startProgram(command: string, words: readonly string[], options: StartOptions = {}): Started {
    const child = spawn(command, words, {
      cwd: options.cwd ?? this.folder,
      env: { ...cleanEnvironment(), LEASEHOLD_STORE: this.store, ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#children.add(child);
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input ?? "");
    // The pipes may be held open by what outlives the command, so its exit counts; a moment later
    // everything that it wrote itself has arrived.
    const ended = new Promise<Ended>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => {
        this.#children.delete(child);
        setImmediate(() => setTimeout(() => resolve({ code, signal, stdout, stderr }), 5));
      });
    });
    return {
      pid: child.pid as number,
      ended,
      stderr: () => stderr,
      stdout: () => stdout,
      kill: (signal) => child.kill(signal),
    };
  }

  /** A space of this process on the same store, closed with the world. */
  async openSpace(options: SpaceOptions = {}): Promise<Space> {
    const space = await open(this.store, { ...options, thread: "caller" });
    this.#spaces.push(space);
    return space;
  }

  /** Writes a shell script and returns its path. */
  script(name: string, text: string): string {
    const path = this.path(name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return path;
  }

  /** The content of a file in the folder; empty while there is none. */
  read(name: string): string {
    return existsSync(this.path(name)) ? readFileSync(this.path(name), "utf8") : "";
  }

  /** Waits until a file of the folder holds a number, and returns it. */
  async readPid(name: string): Promise<number> {
    await until(`${name} is written`, () => /^\d+\n/.test(this.read(name)));
    return Number(this.read(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    await Promise.all(this.#spaces.map((space) => space.close({ grace: "1s" })));
    // What a watchdog is about to end may write a last file between the listing and the removal.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** The environment without what this run of the tests, or a user, has put there. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|LEASEHOLD_|NODE_|VITEST|TEST$|NO_COLOR|FORCE_COLOR|COLUMNS)/i.test(name),
  );
  return { ...Object.fromEntries(kept), TZ: "UTC" };
}

/** Resolves when the condition holds; fails with the words when it does not in good time. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + patienceMs;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

/** Whether a process exists and runs; one that is dead but not waited for does not. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

/** Milliseconds that a promise took to settle, from now on, and its value. */
export async function timed<Value>(
  promise: Promise<Value>,
): Promise<{ readonly ms: number; readonly value: Value }> {
  const startMs = performance.now();
  const value = await promise;
  return { ms: performance.now() - startMs, value };
}
