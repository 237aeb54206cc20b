import { fork, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { HistoryLine } from "./history-line.ts";
import { grantsOf, tokenOrderBreaks } from "./token-order.ts";

const child = fileURLToPath(new URL("history-child.ts", import.meta.url));
/** Longer than the lease of a recorded process. */
const stopMs = 1_800;
const pauseMs = 350;

export interface HistoryOptions {
  readonly processes: number;
  readonly seconds: number;
  readonly seed: number;
  /** A command to run each process under, such as `strace` with a fault; none by default. */
  readonly under?: readonly string[] | undefined;
}

export interface HistoryReport {
  readonly grants: number;
  readonly kills: number;
  readonly stops: number;
  readonly finished: number;
  readonly breaks: readonly string[];
  readonly unhandled: readonly string[];
  /** How often each error code was told. */
  readonly errors: Readonly<Record<string, number>>;
}

/**
 * Real processes on one SQLite file, killed and stopped at random; what they were told is checked.
 */
export async function recordHistory(options: HistoryOptions): Promise<HistoryReport> {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-history-"));
  const started: Recorded[] = [];
  const start = (): Recorded => {
    const recorded = new Recorded(folder, started.length, options);
    started.push(recorded);
    return recorded;
  };
  try {
    const running = Array.from({ length: options.processes }, start);
    await disturb(running, start, options);
    await Promise.all(started.map((each) => each.ended));
    return summarise(started);
  } finally {
    for (const each of started) {
      if (each.isRunning) each.signal("SIGKILL");
      each.process.kill("SIGKILL");
    }
    rmSync(folder, { recursive: true, force: true });
  }
}

class Recorded {
  readonly process: ChildProcess;
  readonly ended: Promise<void>;
  readonly #log: string;
  wasKilled = false;
  wasStopped = false;
  #pid: number | undefined;

  constructor(folder: string, place: number, { seconds, seed, under }: HistoryOptions) {
    this.#log = join(folder, `${place}.jsonl`);
    const url = `sqlite:${join(folder, "store.db")}`;
    const given = [url, this.#log, String(seconds), String(seed * 1_000 + place)];
    const [command, ...before] = under ?? [];
    // The built package: what users run, and quicker to start than the sources.
    const execArgv: string[] = [];
    this.process =
      command === undefined
        ? fork(child, given, { execArgv })
        : fork(child, given, {
            execPath: command,
            execArgv: [...before, process.execPath, ...execArgv],
          });
    this.process.once("message", (pid) => {
      this.#pid = Number(pid);
    });
    this.ended = new Promise((resolve) => this.process.once("exit", () => resolve()));
  }

  /** Whether it has begun and not ended yet. */
  get isRunning(): boolean {
    return this.#pid !== undefined && this.process.exitCode === null && !this.wasKilled;
  }

  /** Signals the recorded process itself, not the command it was started under. */
  signal(signal: NodeJS.Signals): void {
    try {
      if (this.#pid !== undefined) process.kill(this.#pid, signal);
    } catch {
      // It has ended by itself.
    }
  }

  get lines(): readonly HistoryLine[] {
    if (!existsSync(this.#log)) return [];
    const texts = readFileSync(this.#log, "utf8").split("\n");
    // A killed process may have left half a line at the end.
    return texts.flatMap((text) => {
      try {
        return [JSON.parse(text) as HistoryLine];
      } catch {
        return [];
      }
    });
  }
}

/** Kills and stops processes while they run; a killed one is followed by a new one. */
async function disturb(
  running: Recorded[],
  start: () => Recorded,
  { seconds, seed }: HistoryOptions,
): Promise<void> {
  const endMs = performance.now() + (seconds * 1_000 * 2) / 3;
  for (let turn = seed; performance.now() < endMs;) {
    await new Promise((resume) => setTimeout(resume, pauseMs));
    const place = running.findLastIndex((each) => each.isRunning && !each.wasStopped);
    const victim = running[place];
    if (victim === undefined) continue;
    turn += 1;
    if (turn % 2 === 0) {
      victim.wasKilled = true;
      victim.signal("SIGKILL");
      running[place] = start();
    } else {
      victim.wasStopped = true;
      victim.signal("SIGSTOP");
      setTimeout(() => victim.signal("SIGCONT"), stopMs);
    }
  }
}

function summarise(started: readonly Recorded[]): HistoryReport {
  const lines = started.flatMap((each) => each.lines);
  const grants = grantsOf(lines);
  const errors: Record<string, number> = {};
  for (const line of lines) {
    if (line.kind === "error") errors[line.code] = (errors[line.code] ?? 0) + 1;
  }
  return {
    grants: grants.length,
    kills: started.filter((each) => each.wasKilled).length,
    stops: started.filter((each) => each.wasStopped).length,
    finished: lines.filter(({ kind }) => kind === "finished").length,
    breaks: tokenOrderBreaks(grants),
    unhandled: lines.flatMap((line) => (line.kind === "unhandled" ? [line.error] : [])),
    errors,
  };
}
