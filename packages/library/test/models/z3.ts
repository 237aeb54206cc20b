import { readFileSync } from "node:fs";

import { runToEnd } from "./run-to-end.ts";

export const admissionProof: string = readFileSync(
  new URL("admission.smt2", import.meta.url),
  "utf8",
);

/** One question of a proof, what it should be answered, and what z3 answered. */
export interface Goal {
  readonly what: string;
  readonly expected: string;
  readonly found: string;
}

/**
 * Runs a proof. Each of its goals prints the expected answer with a title, then z3's answer.
 * Rejects when z3 is missing, or says anything but answers.
 */
export async function prove(proof: string): Promise<readonly Goal[]> {
  const output = await runToEnd("z3", ["-in", "-T:60"], { input: proof });
  const lines = output.trim().split("\n");
  const goals: Goal[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const [, expected, what] = /^(unsat|sat): (.*)$/.exec(lines[at] ?? "") ?? [];
    const found = lines[at + 1];
    if (expected === undefined || what === undefined || found === undefined) {
      throw new Error(`z3 said: ${lines.slice(at, at + 3).join(" / ")}`);
    }
    goals.push({ what, expected, found });
  }
  return goals;
}

/** One line of the proof changed: at least one theorem must become false. */
export interface ProofMutant {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

export const proofMutants: readonly ProofMutant[] = [
  {
    name: "the token is not raised",
    from: "(state (+ (counter s) 1) true a (+ (counter s) 1)",
    to: "(state (counter s) true a (counter s)",
  },
  {
    name: "the token follows the grant instead of the counter",
    from: "(state (+ (counter s) 1) true a (+ (counter s) 1)",
    to: "(state (+ (counter s) 1) true a (+ (token s) 1)",
  },
  {
    name: "a live grant is reclaimed one tick early",
    from: "(or (not (held s)) (>= (now s) (end s))))",
    to: "(or (not (held s)) (>= (+ (now s) 1) (end s))))",
  },
  {
    name: "expiry is exclusive for the holder",
    from: "(and (held s) (= (id s) a) (< (now s) (end s))))",
    to: "(and (held s) (= (id s) a) (<= (now s) (end s))))",
  },
  {
    name: "renew ignores the id",
    from: "(and (held s) (= (id s) a) (< (now s) (end s))))",
    to: "(and (held s) (< (now s) (end s))))",
  },
  {
    name: "release ignores the id",
    from: "(ite (and (held s) (= (id s) a))",
    to: "(ite (held s)",
  },
  {
    name: "an automatic renewal may shorten",
    from: "(ite shortens (+ (now s) length) (most (end s) (+ (now s) length)))",
    to: "(+ (now s) length)",
  },
  {
    name: "a renewal adds up",
    from: "(ite shortens (+ (now s) length) (most (end s) (+ (now s) length)))",
    to: "(+ (end s) length)",
  },
];

export function mutatedProof({ name, from, to }: ProofMutant): string {
  const parts = admissionProof.split(from);
  if (parts.length !== 2) throw new Error(`the line of "${name}" stands ${parts.length - 1} times`);
  return parts.join(to);
}
