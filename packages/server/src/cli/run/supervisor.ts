import type { Clock, Lease, Space, Timer } from "leasehold";
import { LeaseLostError } from "leasehold";

import { spanText } from "../../output/time-text.ts";
import type { EndingSignal } from "../interruption.ts";
import type { CommandTarget } from "./command-target.ts";
import type { CommandExit, GatedCommand } from "./gated-command.ts";
import type { GuardTimes } from "./guard-times.ts";
import { pause } from "./pauses.ts";
import type { RunReport } from "./run-report.ts";
import type { Watchdog } from "./watchdog.ts";

/** The rest of a group is looked for again after this, and then more and more seldom. */
const lookMsMin = 2;
const lookMsMax = 50;
/** What has outlived KILL for so long cannot be ended: it belongs to somebody else, or hangs. */
const unkillableMs = 10_000;
const stoppedText = "the lease could not be renewed in time: this wrapper was stopped or held up";

export interface SupervisedRun {
  readonly clock: Clock;
  readonly space: Space;
  readonly lease: Lease;
  readonly command: GatedCommand;
  readonly target: CommandTarget;
  readonly watchdog: Watchdog;
  readonly times: GuardTimes;
  readonly report: RunReport;
}

/** What became of the command. */
export interface SupervisedEnd {
  readonly exit: CommandExit;
  /** Why the command was ended early; null while the lease was held to the end. */
  readonly loss: string | null;
}

/**
 * Guards a command that is at work under a lease until nothing of it is left.
 *
 *   at work --(lease runs out or is lost)--> TERM, CONT --(guard ms, or the local deadline)--> KILL
 *   at work --(the wrapper is told to end)--> that signal, CONT --(grace)------------------> KILL
 *   at work --(direct child ends)--> group empty: over; else TERM, CONT --(grace)--> KILL --> over
 *
 * A later cause can only bring KILL forward. The lease goes on being renewed until all is over.
 */
export class Supervisor {
  readonly #run: SupervisedRun;
  readonly #unsubscribe: () => void;
  #leaseTimer: Timer | undefined;
  #killTimer: Timer | undefined;
  #killAtMs = Infinity;
  #killedAtMs = Infinity;
  #loss: string | null = null;
  /** The watchdog has sent TERM already. */
  #isSignalled = false;

  constructor(run: SupervisedRun) {
    this.#run = run;
    const { space, lease, watchdog, report } = run;
    this.#unsubscribe = space.on("renewed", ({ token }) => {
      if (token === lease.token) this.#renewed();
    });
    lease.signal.addEventListener("abort", this.#lost, { once: true });
    watchdog.whenEnding = () => {
      this.#isSignalled = true;
      this.#endForLoss(stoppedText);
    };
    watchdog.whenGone = () => {
      const text =
        "the watchdog was killed; the command is not guarded against a kill of this wrapper";
      report.say({ event: "unguarded", weight: "error", text });
    };
    if (lease.signal.aborted) this.#lost();
    else this.#checkLease();
  }

  /** Hands a signal to the command, which must then end within the grace. */
  forward(name: EndingSignal): void {
    const { target, times, report } = this.#run;
    const text = `${name}: handed to the command, which has ${spanText(times.graceMs)} to end`;
    report.say({ event: "signal", weight: "detail", facts: { signal: name }, text });
    target.signal(name);
    target.signal("SIGCONT");
    this.#killWithin(times.graceMs);
  }

  /** Resolves when nothing of the command is left and the watchdog is called off. */
  async over(): Promise<SupervisedEnd> {
    const { lease, command, target, times, report, watchdog } = this.#run;
    const exit = await command.exited;
    report.say({
      event: "exited",
      weight: "detail",
      facts: { code: exit.code, signal: exit.signal },
      text: `the command ended with ${exit.signal ?? exit.code}`,
    });
    if (target.id < 0 && target.isLive()) {
      if (this.#killAtMs === Infinity) {
        const text =
          "the command left processes behind; they are ended before the lock is released";
        report.say({ event: "leftovers", weight: "note", text });
        target.signal("SIGTERM");
        target.signal("SIGCONT");
        this.#killWithin(times.graceMs);
      }
      await this.#groupIsEmpty();
    }
    this.#stop();
    if (await watchdog.finish()) this.#loss ??= stoppedText;
    // A wrapper that was stopped learns of both ends at once, the command's and the lease's.
    if (this.#loss === null && (lease.signal.aborted || lease.remainingMs() === 0)) {
      this.#loss = lossText(lease);
    }
    return { exit, loss: this.#loss };
  }

  #renewed(): void {
    if (this.#loss !== null) return;
    const { lease, watchdog, times } = this.#run;
    watchdog.termIn(lease.remainingMs() - times.guardMs);
  }

  /** Ends the command when too little of the lease is left; else looks again when that may be. */
  #checkLease = (): void => {
    const { clock, lease, times } = this.#run;
    if (this.#loss !== null) return;
    const leftMs = lease.remainingMs() - times.guardMs;
    if (leftMs <= 0) {
      this.#endForLoss("the lease could not be renewed in time");
      return;
    }
    this.#leaseTimer = clock.timer(leftMs, this.#checkLease);
  };

  #lost = (): void => {
    this.#endForLoss(lossText(this.#run.lease));
  };

  #endForLoss(loss: string): void {
    const { lease, target, watchdog, times, report } = this.#run;
    if (this.#loss !== null) return;
    this.#loss = loss;
    const text = `${loss}; ending the command`;
    report.say({ event: "lost", weight: "error", facts: { name: lease.name }, text });
    if (!this.#isSignalled) {
      target.signal("SIGTERM");
      target.signal("SIGCONT");
    }
    // When the lease is over because somebody forced it, the command still gets its time: the
    // successor may be at work already, and a clean end is worth more than an early one.
    const leftMs = isExpired(lease) ? 0 : times.guardMs;
    const graceMs = lease.signal.aborted ? leftMs : Math.min(times.guardMs, lease.remainingMs());
    watchdog.killIn(graceMs);
    this.#killWithin(graceMs);
  }

  #killWithin(graceMs: number): void {
    const { clock } = this.#run;
    const atMs = clock.monotonicMs() + graceMs;
    if (atMs >= this.#killAtMs) return;
    this.#killAtMs = atMs;
    this.#killTimer?.cancel();
    this.#killTimer = clock.timer(graceMs, () => this.#kill());
  }

  #kill(): void {
    const { clock, target, report } = this.#run;
    this.#killedAtMs = clock.monotonicMs();
    if (!target.isLive()) return;
    const text = "the command did not end within its grace and is killed";
    report.say({ event: "killed", weight: "note", text });
    target.signal("SIGKILL");
  }

  async #groupIsEmpty(): Promise<void> {
    const { clock, target, report } = this.#run;
    let lookMs = lookMsMin;
    while (target.isLive()) {
      if (clock.monotonicMs() - this.#killedAtMs > unkillableMs) {
        const text = "something of the command cannot be killed and lives on";
        report.say({ event: "unkillable", weight: "error", text });
        return;
      }
      // oxlint-disable-next-line no-await-in-loop -- bounded: KILL is due, and a time after it
      await pause(clock, lookMs);
      lookMs = Math.min(lookMsMax, lookMs * 2);
    }
  }

  #stop(): void {
    this.#unsubscribe();
    this.#run.lease.signal.removeEventListener("abort", this.#lost);
    this.#leaseTimer?.cancel();
    this.#killTimer?.cancel();
  }
}

function isExpired({ signal }: Lease): boolean {
  const reason: unknown = signal.reason;
  return !(reason instanceof LeaseLostError) || reason.reason === "expired";
}

function lossText({ signal }: Lease): string {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason.message : "the lease is over";
}
