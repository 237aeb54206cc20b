import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { LockRecord } from "../../src/core/lock/record.ts";
import { World } from "../core/world.ts";
import {
  isLive,
  stateTerm,
  step,
  stepTerm,
  untouched,
  type Admission,
  type AdmissionStep,
} from "./admission-steps.ts";
import { admissionProof, mutatedProof, proofMutants, prove } from "./z3.ts";

const goalsMin = { unsat: 11, sat: 5 };

describe("the arithmetic of admission, proved by z3", () => {
  test("base, induction and consequences have no counterexample, premises are possible [I1] [I5] [I7] [I8] [I31]", async () => {
    const goals = await prove(admissionProof);
    expect(goals.filter(({ expected, found }) => expected !== found)).toEqual([]);
    const asked = Object.groupBy(goals, ({ expected }) => expected);
    expect(asked["unsat"]?.length).toBeGreaterThanOrEqual(goalsMin.unsat);
    expect(asked["sat"]?.length).toBeGreaterThanOrEqual(goalsMin.sat);
  });

  test.for(proofMutants)("is refuted when $name", async (mutant) => {
    const goals = await prove(mutatedProof(mutant));
    const refuted = goals.filter(({ expected, found }) => expected === "unsat" && found === "sat");
    expect(refuted.length).toBeGreaterThan(0);
  });
});

const length = fc.oneof(fc.integer({ min: 100, max: 400 }), fc.constantFrom(100, 200));
const id = fc.integer({ min: 0, max: 3 });
/** `id` counts back from the newest attempt, so stale ones are met often. */
const anyStep: fc.Arbitrary<AdmissionStep> = fc.oneof(
  fc.record({ do: fc.constant("grant" as const), id, length }),
  fc.record({ do: fc.constant("renew" as const), id, length, shortens: fc.boolean() }),
  fc.record({ do: fc.constant("release" as const), id }),
  fc.record({
    do: fc.constant("pass" as const),
    length: fc.oneof(fc.constantFrom(0, 1, 100, 200), fc.nat(250)),
  }),
);
const anyRun = fc.record({
  floor: fc.constantFrom(0, 0, 7),
  steps: fc.array(anyStep, { minLength: 1, maxLength: 30 }),
});

/** The real decisions on one lock, driven by the same steps. */
class Decided {
  readonly world = new World();
  readonly #start = this.world.now;
  /** The token that each id was given. One that was refused has none, so it knows of no rewind. */
  readonly #tokens = new Map<number, number>();
  change = 0;

  constructor(floor: number) {
    if (floor > 0) this.world.put(["floor", "ns"], { v: 1, floor });
  }

  /** Takes the step, and tells whether the answer was yes. */
  take(what: AdmissionStep): boolean {
    switch (what.do) {
      case "grant": {
        const given = this.world.try("A", String(what.id), { leaseMs: what.length });
        if (given.kind === "granted") this.#tokens.set(what.id, given.grant.token);
        return given.kind === "granted";
      }
      case "renew": {
        const how = what.shortens ? "set" : "extend";
        const token = this.#tokens.get(what.id) ?? 0;
        const command = { how, token, lengthMs: what.length, change: (this.change += 1) } as const;
        return this.world.renew("A", String(what.id), command).kind === "renewed";
      }
      case "release":
        return this.world.release("A", String(what.id));
      case "pass":
        this.world.now += what.length;
        return true;
    }
  }

  /** What is stored, in the terms of the proof. */
  get stored(): Pick<Admission, "counter" | "held" | "id" | "token" | "end" | "now"> {
    const now = this.world.now - this.#start;
    const lock = this.world.get(["lock", "ns", "a"]) as unknown as LockRecord | undefined;
    const floor = (this.world.get(["floor", "ns"]) as { floor: number } | undefined)?.floor ?? 0;
    const [grant, ...others] = lock?.grants ?? [];
    expect(others).toEqual([]);
    const counter = lock?.counter ?? floor;
    if (grant === undefined) return { counter, held: false, id: 0, token: 0, end: 0, now };
    const end = grant.expiresAt - this.#start;
    return { counter, held: true, id: Number(grant.id), token: grant.token, end, now };
  }
}

/** Ids that count back become ids: a grant always asks under a new one. */
function named(what: AdmissionStep, { used }: Admission, last: number): AdmissionStep {
  if (what.do === "grant") return { ...what, id: last + 1 };
  return what.do === "pass" ? what : { ...what, id: Math.max(1, used - what.id) };
}

/** Whether a step is one that is answered by yes. */
function isTaken(before: Admission, what: AdmissionStep): boolean {
  if (what.do === "pass") return true;
  if (what.do === "grant") return !isLive(before);
  return isLive(before) && before.id === what.id;
}

describe("the steps of the proof", () => {
  test("store and answer what the real decisions do, in any order [I7] [I8]", () => {
    fc.assert(
      fc.property(anyRun, ({ floor, steps }) => {
        const decided = new Decided(floor);
        let state = untouched(floor, 0);
        let last = 0;
        for (const wish of steps) {
          const what = named(wish, state, last);
          if (what.do === "grant") last = what.id;
          expect(decided.take(what)).toBe(isTaken(state, what));
          state = step(state, what);
          const { issued: _issued, over: _over, used: _used, ...stored } = state;
          expect(decided.stored).toEqual(stored);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("are those that z3 reasons about, on states of many runs", async () => {
    const equalities = fc.sample(anyRun, { numRuns: 60, seed: 1 }).flatMap(({ floor, steps }) => {
      let state = untouched(floor, 0);
      return steps.map((wish, place) => {
        const what = named(wish, state, place);
        const before = state;
        state = step(before, what);
        return `(= ${stepTerm(stateTerm(before), what)} ${stateTerm(state)})`;
      });
    });
    expect(equalities.length).toBeGreaterThan(300);
    const definitions = admissionProof.slice(0, admissionProof.indexOf("; ---- Base"));
    const question = `(assert (not (and ${equalities.join("\n")})))`;
    const asked = `${definitions}${question}(echo "unsat: equal")(check-sat)`;
    expect(await prove(asked)).toEqual([{ what: "equal", expected: "unsat", found: "unsat" }]);
  });
});
