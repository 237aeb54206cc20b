import { fork, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { HistoryLine } from "./history-line.ts";

/** The host's monotonic clock, as the recorded processes read it. */
export function hostMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export interface Start {
  readonly program: URL;
  readonly words: readonly string[];
  /** The file that it writes its lines to, if it does. */
  readonly log?: string | undefined;
  /** A command to run it under, such as `strace` with a fault. */
  readonly under?: readonly string[] | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** A process that writes down what it was told, one line of JSON each, and may be killed. */
export class RecordedProcess {
  readonly ended: Promise<void>;
  readonly #process: ChildProcess;
  readonly #log: string | undefined;
  #pid: number | undefined;
  #endedMs = Infinity;
  wasKilled = false;
  /** How often it was stopped, and whether it is to be left alone for now. */
  stops = 0;
  wasStopped = false;

  constructor({ program, words, log, under = [], env = {} }: Start) {
    this.#log = log;
    const [execPath = process.execPath, ...before] = under;
    // The built package: what users run, and quicker to start than the sources.
    const execArgv = under.length === 0 ? [] : [...before, process.execPath];
    const child = fileURLToPath(program);
    this.#process = fork(child, words, { execPath, execArgv, env: { ...process.env, ...env } });
    this.#process.once("message", (pid) => {
      this.#pid = Number(pid);
    });
    this.ended = new Promise((resolve) =>
      this.#process.once("exit", () => {
        this.#endedMs = hostMs();
        resolve();
      }),
    );
  }

  /** When it was seen to have ended; infinite while it runs. */
  get endedMs(): number {
    return this.#endedMs;
  }

  /** Whether it has begun and not ended yet. */
  get isRunning(): boolean {
    return this.#pid !== undefined && this.#endedMs === Infinity && !this.wasKilled;
  }

  kill(): void {
    this.wasKilled = true;
    this.#signal("SIGKILL");
  }

  /** Stops it for a while, in which none of its timers fires. */
  stop(ms: number): void {
    this.wasStopped = true;
    this.stops += 1;
    this.#signal("SIGSTOP");
    setTimeout(() => this.#signal("SIGCONT"), ms);
  }

  tell(word: string): void {
    if (this.#process.connected) this.#process.send(word);
  }

  /** Hears what it tells after its first word, which is its process id. */
  onNews(listener: (word: unknown) => void): void {
    this.#process.on("message", (word) => {
      if (typeof word !== "number") listener(word);
    });
  }

  /** Ends it and what it runs under, at the end of a history. */
  end(): void {
    if (this.isRunning) this.#signal("SIGKILL");
    this.#process.kill("SIGKILL");
  }

  /** What it wrote; half a line at the end of a killed process is left out. */
  get lines(): readonly HistoryLine[] {
    if (this.#log === undefined || !existsSync(this.#log)) return [];
    const texts = readFileSync(this.#log, "utf8").split("\n");
    return texts.flatMap((text) => {
      try {
        return [JSON.parse(text) as HistoryLine];
      } catch {
        return [];
      }
    });
  }

  /** Signals the recorded process itself, not the command it was started under. */
  #signal(signal: NodeJS.Signals): void {
    try {
      if (this.#pid !== undefined) process.kill(this.#pid, signal);
    } catch {
      // It has ended by itself.
    }
  }
}
