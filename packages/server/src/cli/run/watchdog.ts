import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";

import type { Clock } from "leasehold";

import type { Environment } from "../../config.ts";
import { pathOf } from "./command-path.ts";
import { settledWithin } from "./pauses.ts";

/**
 * A wrapper that is still stopped so long after its command was ended is woken, to report the loss
 * and to go. It may have been stopped in the middle of a commit, and block the store for everybody.
 */
const wakeSeconds = 5;

/**
 * The watchdog: ends the command when the wrapper cannot, because it was killed or is stopped.
 * POSIX shell, because it starts in a millisecond and needs nothing that a kill of the wrapper
 * could take away. It runs in a session of its own.
 *
 * Argument: the seconds between TERM and KILL. Input, line by line:
 *   TARGET         what `kill` is to hit: a group as -N, or a process as N
 *   term SECONDS   after so long TERM, CONT, and KILL a grace later; replaces the line before
 *   kill SECONDS   after so long KILL, since the wrapper has sent TERM; replaces the line before
 *   done           the command is over
 * The end of the input means that the wrapper died: TERM and CONT at once, and KILL a grace later,
 * but never later than was announced. Prints `ended` when a time given to it has come.
 *
 * `arm` runs in a subshell that main can call off with TERM until the time has come, and with USR1
 * always; it exits with 3 when it has ended the command, so that main does not begin anew. When
 * main ($$) was killed, the time it knows is stale: it leaves the command to the wrapper ($PPID) if
 * that is there, else it is the last one left to end it. CONT comes after TERM, because a stopped
 * process acts on no other signal. `kill -s NAME -- -GROUP` is the one form that every shell takes.
 */
const script = `
trap '' HUP INT QUIT TSTP TTIN TTOU PIPE
grace=$1; read -r target || exit 0; armed=; last=
hit() { kill -s "$1" -- "$target" 2>/dev/null; }
pause() { sleep "$1" & nap=$!; wait "$nap"; }
end() { hit TERM; hit CONT; pause "$grace"; hit KILL; }
arm() {
  (
    exec </dev/null
    trap 'kill -s KILL "$nap" 2>/dev/null; exit 0' TERM USR1
    pause "$2"
    trap '' TERM
    kill -0 $$ 2>/dev/null || ! kill -0 "$PPID" 2>/dev/null || exit 0
    echo ended
    if [ "$1" = term ]; then end; else hit KILL; fi
    trap 'kill -s KILL "$nap" 2>/dev/null; exit 3' TERM
    pause ${wakeSeconds}; kill -s CONT "$PPID" 2>/dev/null
    exit 3
  ) &
  armed=$!
}
outcome() { wait "$armed"; [ $? -ne 3 ] || exit 0; armed=; }
disarm() { [ -z "$armed" ] || { kill -s TERM "$armed" 2>/dev/null; outcome; }; }
while read -r word left; do
  if [ "$word" = done ]; then
    [ -z "$armed" ] || kill -s USR1 "$armed" 2>/dev/null
    exit 0
  fi
  disarm; last=$word; arm "$word" "$left"
done
[ "$last" != kill ] || outcome
disarm; end
`;

type WatchdogProcess = ChildProcessByStdio<Writable, Readable, null>;

/** How long the watchdog may take to end once the command is over. */
const farewellMsMax = 1000;

interface WatchdogTerms {
  readonly clock: Clock;
  readonly environment: Environment;
  /** Between TERM and KILL. */
  readonly guardMs: number;
  readonly lagMs: number;
}

/** The wrapper's side of the watchdog. */
export class Watchdog {
  readonly #process: WatchdogProcess;
  readonly #clock: Clock;
  readonly #lagMs: number;
  readonly #closed: Promise<void>;
  #hasEnded = false;
  #isFinished = false;
  /** Called when the watchdog has begun to end the command. */
  whenEnding: () => void = () => undefined;
  /** Called when the watchdog is gone although the command is not over. */
  whenGone: () => void = () => undefined;

  private constructor(watchdog: WatchdogProcess, { clock, lagMs }: WatchdogTerms) {
    this.#process = watchdog;
    this.#clock = clock;
    this.#lagMs = lagMs;
    this.#closed = new Promise((resolve) => {
      watchdog.once("close", () => resolve());
    });
    watchdog.once("exit", () => {
      if (!this.#isFinished && !this.#hasEnded) this.whenGone();
    });
    // Whoever writes to a watchdog that is gone learns of it by `close`.
    watchdog.stdin.on("error", () => undefined);
    watchdog.stdout.on("data", () => {
      this.#hasEnded = true;
      this.whenEnding();
    });
  }

  /** Starts a watchdog that has nothing to watch yet. Rejects when the system refuses. */
  static async start(terms: WatchdogTerms): Promise<Watchdog> {
    const words = ["-c", script, "leasehold-watchdog", secondsText(terms.guardMs)];
    const watchdog: WatchdogProcess = spawn("/bin/sh", words, {
      cwd: "/",
      detached: true,
      // A foreign locale could read "0.5" as something else.
      env: { LC_ALL: "C", PATH: `${pathOf(terms.environment)}:/usr/bin:/bin` },
      stdio: ["pipe", "pipe", "ignore"],
    });
    await new Promise<void>((resolve, reject) => {
      watchdog.once("spawn", resolve);
      watchdog.once("error", reject);
    });
    return new Watchdog(watchdog, terms);
  }

  /** Resolves once the target is in the watchdog's hands: from then on it is guarded. */
  announce(target: number, termInMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const lines = `${target}\n${this.#line("term", termInMs)}`;
      this.#process.stdin.write(lines, (error) => {
        if (error === null || error === undefined) resolve();
        else reject(error);
      });
    });
  }

  /** Sets anew when the command is to be sent TERM. */
  termIn(ms: number): void {
    this.#process.stdin.write(this.#line("term", ms));
  }

  /** Sets when the command, which has been sent TERM, is to be killed. */
  killIn(ms: number): void {
    this.#process.stdin.write(this.#line("kill", ms));
  }

  /** Calls the watchdog off; resolves with whether it had begun to end the command. */
  async finish(): Promise<boolean> {
    this.#isFinished = true;
    this.#process.stdin.end("done\n");
    const isOver = await settledWithin(this.#clock, farewellMsMax, this.#closed);
    if (!isOver) this.#process.kill("SIGKILL");
    return this.#hasEnded;
  }

  #line(word: "term" | "kill", ms: number): string {
    return `${word} ${secondsText(ms + this.#lagMs)}\n`;
  }
}

function secondsText(ms: number): string {
  return (Math.max(0, ms) / 1000).toFixed(3);
}
