import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { CalendarShift } from "./calendar-shift.ts";
import { callsOf, type ProcessLog } from "./calls-of.ts";
import { linearize } from "./linearizability.ts";
import { chanceOf, withWrongAnswer, wrongAnswers } from "./random-history.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { hostMs, RecordedProcess } from "./recorded-process.ts";
import { grantsOf, tokenOrderBreaks } from "./token-order.ts";

const program = new URL("history-child.ts", import.meta.url);
/** Longer than the lease of a recorded process. */
const stopMs = 1_800;
const pauseMs = 800;
/** Wrong answers of each kind that are tried on a history. */
const wrongPerKind = 5;
/** What a process takes to start before it makes its first call. */
const startMs = 1_500;
/** Clients that share a lock, so that some wait and none waits too long. */
const clientsPerName = 4;

export interface HistoryOptions {
  readonly processes: number;
  /** Clients of all processes together. Default: three a process. */
  readonly clients?: number | undefined;
  readonly seconds: number;
  readonly seed: number;
  /** A command to run each process under, such as `strace` with a fault; none by default. */
  readonly under?: readonly string[] | undefined;
  /** Also set the calendar of the processes while they run. */
  readonly hasShifts?: boolean | undefined;
}

export interface HistoryReport {
  readonly calls: number;
  readonly unknown: number;
  readonly grants: number;
  readonly renewals: number;
  readonly kills: number;
  readonly stops: number;
  /** Jumps of the calendar that processes have seen. */
  readonly shifts: number;
  readonly finished: number;
  /** What token order forbids. */
  readonly breaks: readonly string[];
  /** The calls at which the search for a linearization came to its end. */
  readonly stuck: readonly string[];
  readonly configurations: number;
  /** Histories made from this one by one wrong answer each, and how many of them were refused. */
  readonly wrongAnswers: number;
  readonly wrongRefused: number;
  readonly unhandled: readonly string[];
  /** How often each error code was told. */
  readonly errors: Readonly<Record<string, number>>;
}

/**
 * Real processes on one SQLite file, killed and stopped at random; what they were told is checked
 * for token order and for linearizability.
 */
export async function recordHistory(options: HistoryOptions): Promise<HistoryReport> {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-history-"));
  const started: RecordedProcess[] = [];
  const endMs = hostMs() + startMs + options.seconds * 1_000;
  const calendar = options.hasShifts === true ? new CalendarShift(join(folder, "shift")) : null;
  const start = (): RecordedProcess => {
    const recorded = startOne(folder, started.length, { options, endMs, env: calendar?.env });
    started.push(recorded);
    return recorded;
  };
  try {
    const running = Array.from({ length: options.processes }, start);
    const { seed } = options;
    await disturb(running, start, { seed, calendar, untilMs: endMs - stopMs - pauseMs });
    await Promise.all(started.map((each) => each.ended));
    return summarise(started);
  } finally {
    for (const each of started) each.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

function startOne(
  folder: string,
  place: number,
  {
    options,
    endMs,
    env,
  }: {
    readonly options: HistoryOptions;
    readonly endMs: number;
    readonly env: NodeJS.ProcessEnv | undefined;
  },
): RecordedProcess {
  const { processes, seed, under, clients = 3 * processes } = options;
  const own = Math.max(1, Math.round(clients / processes));
  const names = Math.max(2, Math.round(clients / clientsPerName));
  const log = join(folder, `${place}.jsonl`);
  const url = `sqlite:${join(folder, "store.db")}`;
  const numbers = [endMs, seed * 1_000 + place, own, names];
  const words = [url, log, ...numbers.map(String)];
  return new RecordedProcess({ program, words, log, under, env });
}

/** Kills and stops processes while they run; a killed one is followed by a new one. */
async function disturb(
  running: RecordedProcess[],
  start: () => RecordedProcess,
  {
    seed,
    calendar,
    untilMs,
  }: {
    readonly seed: number;
    readonly calendar: CalendarShift | null;
    readonly untilMs: number;
  },
): Promise<void> {
  for (let turn = seed; hostMs() < untilMs;) {
    await new Promise((resume) => setTimeout(resume, pauseMs));
    calendar?.next();
    const place = running.findLastIndex((each) => each.isRunning && !each.wasStopped);
    const victim = running[place];
    if (victim === undefined) {
      // Whoever was stopped has run on since, and may be struck again.
      for (const each of running) each.wasStopped = false;
      continue;
    }
    turn += 1;
    if (turn % 2 === 0) {
      victim.kill();
      running[place] = start();
    } else {
      victim.stop(stopMs);
    }
  }
}

function summarise(started: readonly RecordedProcess[]): HistoryReport {
  const logs = started.map((each, process): ProcessLog => {
    return { process, lines: each.lines, endedMs: each.endedMs };
  });
  const lines = logs.flatMap((log) => log.lines);
  const calls = callsOf(logs);
  const grants = grantsOf(
    calls,
    lines.filter((line) => line.kind === "still"),
  );
  const verdict = linearize(calls);
  const errors: Record<string, number> = {};
  for (const line of lines) {
    if (line.kind === "unknown") errors[line.code] = (errors[line.code] ?? 0) + 1;
  }
  return {
    calls: calls.length,
    unknown: calls.filter(({ answer }) => answer === "unknown").length,
    grants: grants.length,
    renewals: calls.filter((call) => call.do === "renew" && call.answer === "ok").length,
    kills: started.filter((each) => each.wasKilled).length,
    stops: started.reduce((sum, each) => sum + each.stops, 0),
    shifts: lines.filter(({ kind }) => kind === "shift").length,
    finished: lines.filter(({ kind }) => kind === "finished").length,
    breaks: tokenOrderBreaks(grants),
    stuck: verdict.stuck,
    configurations: verdict.configurations,
    ...falsified(calls),
    unhandled: lines.flatMap((line) => (line.kind === "unhandled" ? [line.error] : [])),
    errors,
  };
}

/** Whether the check would have noticed: one wrong answer at a time, some of each kind. */
function falsified(
  calls: readonly RecordedCall[],
): Pick<HistoryReport, "wrongAnswers" | "wrongRefused"> {
  const chance = chanceOf(calls.length);
  const locks = [...Map.groupBy(calls, ({ name }) => name).values()];
  const wrong = wrongAnswers
    .flatMap((how) => Array.from({ length: wrongPerKind }, () => how))
    // Locks are judged each by itself, so it is enough to ask again about the falsified one.
    .map((how) => withWrongAnswer(locks[Math.floor(chance() * locks.length)] ?? [], how, chance))
    .filter((each) => each !== undefined);
  const refused = wrong.filter((each) => !linearize(each).isLinearizable);
  return { wrongAnswers: wrong.length, wrongRefused: refused.length };
}
