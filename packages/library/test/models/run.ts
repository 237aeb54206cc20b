import { parseArgs } from "node:util";

import { reportRun } from "../results/run-result.ts";
import { modelMutants } from "./lease-mutants.ts";
import {
  findMutant,
  leaseModel,
  livenessFormulas,
  longBounds,
  quickBounds,
  SpinModel,
  type SpinReport,
} from "./spin.ts";
import { admissionProof, mutatedProof, proofMutants, prove } from "./z3.ts";

/**
 * The second opinions: the model of one lock in its larger bounds, all its mutants, and the proof.
 *
 *     node --conditions=leasehold-src packages/library/test/models/run.ts [--quick]
 */
const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const failures: string[] = [];

function rowOf(report: SpinReport): Record<string, number | string> {
  const { ATTEMPTS, FAULTS, WRITES, RENEWALS } = report.bounds;
  const { property, states, transitions, depth, seconds } = report;
  process.stdout.write(`${JSON.stringify(report)}\n`);
  const bounds = { attempts: ATTEMPTS, faults: FAULTS, writes: WRITES, renewals: RENEWALS };
  if (!report.isComplete) failures.push(`spin, ${property}: ${report.broken ?? "not complete"}`);
  return { property, ...bounds, states, transitions, depth, seconds };
}

const rows: Record<string, number | string>[] = [];
const bounds = [...Object.values(quickBounds), ...(values.quick ? [] : longBounds)];
for (const each of bounds) {
  using model = await SpinModel.compile(leaseModel, each, 2);
  rows.push(rowOf(await model.verify("assertions")));
  // The resource has no part in liveness.
  if (each.WRITES > 0) continue;
  for (const formula of livenessFormulas) rows.push(rowOf(await model.verify(formula)));
}

const found: Record<string, number | string>[] = [];
for (const mutant of modelMutants) {
  const { broken, states, depth } = await findMutant(mutant);
  if (broken !== mutant.breaks) failures.push(`the mutant "${mutant.name}" is not found`);
  found.push({ mutant: mutant.name, breaks: broken ?? "nothing", states, depth });
}

const goals = await prove(admissionProof);
for (const { what, expected, found: answer } of goals) {
  if (answer !== expected) failures.push(`z3, ${what}: ${answer}`);
}
const refuted: Record<string, number | string>[] = [];
for (const mutant of proofMutants) {
  const answers = await prove(mutatedProof(mutant));
  const wrong = answers.filter(({ expected, found: answer }) => expected !== answer);
  if (wrong.length === 0) failures.push(`the mutant "${mutant.name}" is not refuted`);
  refuted.push({ mutant: mutant.name, "theorems refuted": wrong.length });
}

reportRun({
  run: "models",
  failures,
  tables: [
    { name: "explored by Spin", rows },
    { name: "mutants of the model", rows: found },
    {
      name: "proved by z3",
      rows: goals.map(({ what, found: answer }) => ({ what, answer })),
    },
    { name: "mutants of the proof", rows: refuted },
  ],
});
