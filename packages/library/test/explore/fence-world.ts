import type { FenceEntry } from "../../src/core/fence/entry.ts";
import { Scratch } from "../fence/forms.ts";
import { brokenOrder, type Asked } from "../fence/history.ts";
import type { Report } from "./explorer.ts";
import type { Machine } from "./machine.ts";

/**
 * World 7: a resource with a guard, in a database file. Four holders come in any order, early,
 * late and again, and the process that owns the resource may start anew in between. Every sequence
 * is tried on a name of its own, and judged by I26.
 */
export const fenceWorld = "7: a guarded resource, four holders, restarts";

/** Accesses and restarts of one sequence; the short ones come first. */
const lengths = [1, 2, 3, 4];

const holders: readonly Omit<FenceEntry, "name">[] = [
  { mode: "exclusive", token: 1 },
  { mode: "shared", token: 2 },
  { mode: "shared", token: 3 },
  { mode: "exclusive", token: 4 },
];
type Step = Omit<FenceEntry, "name"> | "restart";

/** All sequences of a length; none begins or ends with a restart, or has two of them in a row. */
function sequencesOf(length: number): readonly (readonly Step[])[] {
  const steps: readonly Step[] = [...holders, "restart"];
  let sequences: readonly (readonly Step[])[] = [[]];
  for (let place = 0; place < length; place += 1) {
    sequences = sequences.flatMap((before) =>
      steps
        .filter((step) => step !== "restart" || (before.at(-1) ?? "restart") !== "restart")
        .map((step) => [...before, step]),
    );
  }
  return sequences.filter((sequence) => sequence.at(-1) !== "restart");
}

/** Tries all sequences, the short ones first, and tells the first that breaks I26. */
export function exploreFence({ fence: { SqliteFence } }: Machine): Report {
  const scratch = new Scratch();
  let fence = new SqliteFence(scratch.database);
  let [states, edges] = [0, 0];
  const ask = (entry: FenceEntry): Asked => {
    const fenced = { namespace: "default", fences: [entry] };
    try {
      fence.guarded(fenced, {}, () => undefined);
      return { fenced, isAccepted: true };
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== "STALE_FENCE") throw error;
      return { fenced, isAccepted: false };
    }
  };
  const run = (sequence: readonly Step[], name: string): readonly Asked[] =>
    sequence.flatMap((step) => {
      if (step !== "restart") return [ask({ ...step, name })];
      scratch.reopen();
      fence = new SqliteFence(scratch.database);
      return [];
    });
  const report = (failure: Report["failure"]): Report => {
    const isComplete = failure === null;
    return {
      world: fenceWorld,
      states,
      edges,
      depth: lengths.length,
      seconds: 0,
      isComplete,
      failure,
    };
  };
  try {
    for (const sequence of lengths.flatMap(sequencesOf)) {
      states += 1;
      edges += sequence.length;
      const broken = brokenOrder(run(sequence, `sequence ${states}`));
      if (broken !== null) return report({ broken, trace: sequence.map(labelOf) });
    }
    return report(null);
  } finally {
    scratch.close();
  }
}

function labelOf(step: Step): string {
  return step === "restart" ? "the resource restarts" : `${step.mode} ${step.token} writes`;
}
