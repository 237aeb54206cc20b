import { isatty } from "node:tty";

import type { AcquireOptions, Lease, Space } from "leasehold";
import { LeaseLostError, LockAbortedError, LockWaitTimeoutError, QueueFullError } from "leasehold";

import type { Settings } from "../../config.ts";
import { printable } from "../../output/printable.ts";
import { denialText } from "../../output/lock-text.ts";
import { spanText } from "../../output/time-text.ts";
import type { Cli } from "../cli.ts";
import { exitCodes } from "../exit-codes.ts";
import { CommandFailure, describeFailure, exitCodeOfSignal } from "../failure.ts";
import { createTarget } from "./command-target.ts";
import { ForwardedSignals } from "./forwarded-signals.ts";
import { GatedCommand, commandEnvironment } from "./gated-command.ts";
import { guardTimes } from "./guard-times.ts";
import { RunReport } from "./run-report.ts";
import type { SupervisedEnd } from "./supervisor.ts";
import { Supervisor } from "./supervisor.ts";
import { WaitingLine } from "./waiting-line.ts";
import { Watchdog } from "./watchdog.ts";

/** A store that is too slow for the lease so many times in a row is too slow for it. */
const attemptsMax = 3;

/** How the lock is asked for; `owner` is always given. */
export interface RunRequest extends Omit<AcquireOptions, "signal"> {
  readonly owner: string;
  readonly wait: number;
}

/** One call of `run`, checked. */
export interface RunPlan {
  readonly name: string;
  readonly command: readonly string[];
  readonly settings: Settings;
  readonly request: RunRequest;
  readonly graceMs: number;
  readonly conflictExitCode: number;
  readonly isForeground: boolean;
}

interface Run {
  readonly cli: Cli;
  readonly plan: RunPlan;
  readonly report: RunReport;
  readonly signals: ForwardedSignals;
  readonly space: Space;
}

/** Takes the lock, runs the command, releases the lock; resolves with the exit code. */
export async function runLocked(cli: Cli, plan: RunPlan): Promise<number> {
  const report = new RunReport(cli.err, cli.clock, plan.settings);
  using signals = new ForwardedSignals(cli.clock);
  await using space = await cli.openSpace(plan.settings);
  if (!space.capabilities.spansProcesses) {
    const text = `the store ${plan.settings.storeUrl} is this process's own: it keeps nobody out`;
    report.say({ event: "private-store", weight: "note", text });
  }
  const run: Run = { cli, plan, report, signals, space };
  const lease = await takeLock(run);
  if (typeof lease === "number") return lease;
  // Every way out of here leads through the release, so that others need not wait for the end.
  let end: SupervisedEnd | null;
  try {
    end = await runCommand(run, lease);
  } catch (error) {
    await release(run, lease);
    throw error;
  }
  const wasHeld = await release(run, lease);
  if (end === null) return exitCodeOfSignal(signals.first ?? "SIGTERM");
  if (end.loss === null && wasHeld) return exitCodeOfCommand(end);
  if (end.loss === null) {
    const text = `the lease of ${printable(plan.name)} was ended before the command was`;
    report.say({ event: "lost", weight: "error", facts: { name: plan.name }, text });
  }
  return exitCodes.lost;
}

/** The lease, or the exit code where there is none. */
async function takeLock({ plan, report, signals, space, cli }: Run): Promise<Lease | number> {
  const { name, request } = plan;
  using line = new WaitingLine({ cli, report, space, name, owner: request.owner });
  try {
    const lease = await acquireFresh(space, name, { ...request, signal: signals.waiting }, line);
    const { waitedMs } = line;
    line[Symbol.dispose]();
    report.say({
      event: "granted",
      weight: line.isWaiting ? "note" : "detail",
      facts: { waitedMs, ...lease.toJSON() },
      text: `got ${printable(name)} after ${spanText(waitedMs)} (token ${lease.token})`,
    });
    return lease;
  } catch (error) {
    line[Symbol.dispose]();
    return exitCodeWithoutLock({ plan, report, signals }, error);
  }
}

/**
 * A lease of which most is still to come. The end of a lease counts from before it was asked for,
 * so a store that is slow to answer grants one that is nearly over: it is renewed before the
 * command starts, and asked for anew when that is too late.
 */
async function acquireFresh(
  space: Space,
  name: string,
  request: AcquireOptions & { readonly wait: number },
  line: WaitingLine,
): Promise<Lease> {
  for (let attempt = 1; ; attempt += 1) {
    const wait = Math.max(0, request.wait - line.waitedMs);
    // oxlint-disable-next-line no-await-in-loop -- bounded by the number of attempts
    const lease = await space.acquire(name, {
      ...request,
      wait: attempt === 1 ? request.wait : wait,
    });
    try {
      // oxlint-disable-next-line no-await-in-loop -- belongs to the attempt
      if (lease.remainingMs() < lease.leaseMs / 2) await lease.renew();
      return lease;
    } catch (error) {
      // oxlint-disable-next-line no-await-in-loop -- what the engine may still hold is ended
      await lease[Symbol.asyncDispose]();
      if (!(error instanceof LeaseLostError) || attempt === attemptsMax) throw error;
    }
  }
}

function exitCodeWithoutLock(
  { plan, report, signals }: Pick<Run, "plan" | "report" | "signals">,
  error: unknown,
): number {
  const shown = printable(plan.name);
  if (error instanceof LockAbortedError && signals.first !== undefined) {
    const text = `${signals.first} while waiting for ${shown}; left the queue`;
    report.say({ event: "interrupted", weight: "note", facts: { signal: signals.first }, text });
    return exitCodeOfSignal(signals.first);
  }
  if (error instanceof LockWaitTimeoutError) {
    const { denial, waitedMs } = error;
    const waited = plan.request.wait === 0 ? "" : ` within ${spanText(waitedMs)}`;
    const text = `did not get ${shown}${waited}: ${denialText(denial)}`;
    report.say({ event: "refused", weight: "note", facts: { waitedMs, denial }, text });
    return plan.conflictExitCode;
  }
  if (error instanceof QueueFullError) {
    const { message, depth, limit } = error;
    report.say({ event: "refused", weight: "note", facts: { depth, limit }, text: message });
    return plan.conflictExitCode;
  }
  throw error;
}

/**
 * Starts watchdog and command, in this order, and stays until nothing of the command is left.
 * Null when the run was interrupted before the command began.
 */
async function runCommand(run: Run, lease: Lease): Promise<SupervisedEnd | null> {
  const { cli, plan, report, signals, space } = run;
  const { clock, environment } = cli;
  const times = guardTimes(plan.graceMs, lease.leaseMs);
  const isDetached = !plan.isForeground;
  const commandTerms = {
    command: plan.command,
    environment: commandEnvironment(environment, factsOf(plan, lease)),
    isDetached,
  };
  const [watchdog, command] = await startBoth(
    Watchdog.start({ clock, environment, ...times }),
    GatedCommand.start(commandTerms),
  );
  const target = createTarget(command.pid, isDetached);
  await watchdog.announce(target.id, lease.remainingMs() - times.guardMs);
  if (signals.first !== undefined) {
    command.abandon();
    await command.exited;
    await watchdog.finish();
    return null;
  }
  const supervisor = new Supervisor({
    clock,
    space,
    lease,
    command,
    target,
    watchdog,
    times,
    report,
  });
  signals.forwardTo((name) => {
    if (!isSentByTerminal(name, plan)) supervisor.forward(name);
  });
  command.open();
  const facts = { pid: command.pid, token: lease.token, graceMs: times.guardMs };
  const text = `started the command as process ${command.pid}`;
  report.say({ event: "started", weight: "detail", facts, text });
  return supervisor.over();
}

/** Starts watchdog and gate at the same time; when one fails, the other does not stay behind. */
async function startBoth(
  watchdog: Promise<Watchdog>,
  command: Promise<GatedCommand>,
): Promise<[Watchdog, GatedCommand]> {
  const [first, second] = await Promise.allSettled([watchdog, command]);
  if (first.status === "fulfilled" && second.status === "fulfilled") {
    return [first.value, second.value];
  }
  if (first.status === "fulfilled") await first.value.finish();
  if (second.status === "fulfilled") second.value.abandon();
  const { reason } = [first, second].find(({ status }) => status === "rejected") as {
    readonly reason: Error;
  };
  const message = `the system would not start a process: ${reason.message}`;
  throw new CommandFailure(exitCodes.system, "NO_PROCESS", message);
}

function factsOf({ name, settings }: RunPlan, lease: Lease): Record<string, string> {
  return {
    LEASEHOLD_NAME: name,
    LEASEHOLD_TOKEN: String(lease.token),
    LEASEHOLD_LEASE_ID: lease.leaseId,
    LEASEHOLD_STORE: settings.storeUrl,
    LEASEHOLD_NAMESPACE: settings.namespace,
  };
}

/** With --foreground the terminal signals everybody in the group, so the command has it already. */
function isSentByTerminal(name: NodeJS.Signals, { isForeground }: RunPlan): boolean {
  const isKey = name === "SIGINT" || name === "SIGQUIT";
  return isForeground && isKey && isatty(0);
}

/** True when the lease was held until now. A release that fails is told, and changes nothing. */
async function release({ report }: Run, lease: Lease): Promise<boolean> {
  try {
    return await lease.release();
  } catch (error) {
    const { message } = describeFailure(error);
    const text = `the lock could not be released and ends by itself: ${message}`;
    report.say({ event: "unreleased", weight: "error", facts: { name: lease.name }, text });
    return true;
  }
}

function exitCodeOfCommand({ exit }: SupervisedEnd): number {
  if (exit.signal !== null) return exitCodeOfSignal(exit.signal);
  return exit.code ?? exitCodes.done;
}
