import { parseArgs } from "node:util";

import { reportRun } from "../results/run-result.ts";
import { recordHistory, type HistoryReport } from "./record-history.ts";

/**
 * Long histories, one line of JSON a round:
 *
 *     node --conditions=leasehold-src packages/library/test/history/run.ts
 *         [--rounds 1] [--processes 8] [--clients 100] [--minutes 10] [--seed 1]
 */
const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "1" },
    processes: { type: "string", default: "8" },
    clients: { type: "string", default: "100" },
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
  },
});
const [processes, clients] = [Number(values.processes), Number(values.clients)];
const seconds = Number(values.minutes) * 60;
const first = Number(values.seed);
const failures: string[] = [];
const rows: Record<string, number>[] = [];
for (let seed = first; seed < first + Number(values.rounds); seed += 1) {
  const report = await recordHistory({ processes, clients, seconds, seed, hasShifts: true });
  process.stdout.write(`${JSON.stringify({ seed, ...report })}\n`);
  failures.push(...failuresOf(report).map((failure) => `seed ${seed}: ${failure}`));
  rows.push(rowOf({ seed, processes, clients, seconds }, report));
}
reportRun({ run: "histories", failures, tables: [{ name: "histories", rows }] });

function failuresOf({ breaks, stuck, unhandled }: HistoryReport): readonly string[] {
  const search = stuck.length === 0 ? [] : [`not linearizable at ${stuck.join("; ")}`];
  return [...breaks, ...search, ...unhandled.map((error) => `unhandled: ${error}`)];
}

function rowOf(
  bounds: Readonly<Record<string, number>>,
  report: HistoryReport,
): Record<string, number> {
  const { calls, unknown, grants, renewals, kills, stops, shifts, configurations } = report;
  return {
    ...bounds,
    calls,
    unknown,
    grants,
    renewals,
    kills,
    stops,
    "calendar jumps seen": shifts,
    "configurations searched": configurations,
    "answers falsified": report.wrongAnswers,
    "of them refused": report.wrongRefused,
  };
}
