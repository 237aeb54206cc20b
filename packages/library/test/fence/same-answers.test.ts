import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { FenceEntry, Fenced } from "../../src/core/fence/entry.ts";
import { makeForms, type Form } from "./forms.ts";
import { brokenOrder, type Asked } from "./history.ts";

type Step =
  | { readonly do: "write" | "install"; readonly fences: readonly FenceEntry[] }
  | { readonly do: "restart" };

const token = fc.integer({ min: 1, max: 6 });
const slots = fc.subarray([0, 1, 2], { minLength: 1 });

function lockEntry(name: string): fc.Arbitrary<FenceEntry> {
  return fc.record({
    name: fc.constant(name),
    mode: fc.constantFrom("exclusive", "shared"),
    token,
  });
}

function permitEntry(name: string): fc.Arbitrary<FenceEntry> {
  return fc.record({ name: fc.constant(name), mode: fc.constant("permits"), token, slots });
}

/** Steps whose entries are one or more of the given ones. */
function stepsOf(...entries: readonly fc.Arbitrary<FenceEntry>[]): fc.Arbitrary<readonly Step[]> {
  const fences = fc.tuple(...entries).chain((each) => fc.shuffledSubarray(each, { minLength: 1 }));
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant("write" as const), fences }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("install" as const), fences }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
  );
  return fc.array(step, { minLength: 1, maxLength: 14 });
}

const mixed = stepsOf(
  fc.oneof(lockEntry("a"), permitEntry("a")),
  fc.oneof(lockEntry("b"), permitEntry("b")),
);
/** A name is a lock or a semaphore, as in a real store. */
const separate = stepsOf(lockEntry("a"), lockEntry("b"), permitEntry("pool"));

function ask(entry: FenceEntry, isAccepted: boolean): Asked {
  return { fenced: { namespace: "any", fences: [entry] }, isAccepted };
}

describe("the forms of the guard", () => {
  let forms: readonly Form[] = [];
  /** Every run has a namespace to itself, because the resources are shared by all runs. */
  let run = 0;

  beforeAll(() => {
    forms = makeForms.map((make) => make());
  });
  afterAll(() => {
    for (const form of forms) form.close();
  });

  /** What a form answers to a list of steps; what it cannot do, it does by a write. */
  async function answersOf(form: Form, steps: readonly Step[]): Promise<readonly unknown[]> {
    const answers: unknown[] = [];
    for (const step of steps) {
      if (step.do === "restart") {
        form.restart();
        continue;
      }
      const asked: Fenced = { namespace: `run-${run}`, fences: step.fences };
      if (step.do === "write" || form.install === undefined) {
        answers.push(form.write(asked));
        continue;
      }
      const result = await form.install(asked);
      answers.push(result.kind === "installed" ? "accepted" : result.marks[0]);
    }
    const marks = ["a", "b", "pool"].map((name) => form.marks(`run-${run}`, name));
    return [...answers, ...marks];
  }

  test("LS100 table, row and memory answer alike and end with the same marks [L70]", async () => {
    await fc.assert(
      fc.asyncProperty(mixed, async (steps) => {
        run += 1;
        const [table, ...others] = await Promise.all(forms.map((form) => answersOf(form, steps)));
        for (const answers of others) expect(answers).toEqual(table);
      }),
      { numRuns: 300 },
    );
  });

  test("accepted work has the order of its tokens, over restarts [I26] [I27] [L67]", async () => {
    await fc.assert(
      fc.asyncProperty(separate, async (steps) => {
        run += 1;
        const asked = steps.filter((step) => step.do !== "restart");
        for (const form of forms) {
          const before = form.writes();
          const answers = await answersOf(form, steps);
          const history: readonly Asked[] = asked.map(({ fences }, place) => ({
            fenced: { namespace: "any", fences },
            isAccepted: answers[place] === "accepted",
          }));
          expect(brokenOrder(history), form.form).toBeNull();
          const written = asked.filter(
            (step, place) =>
              (step.do === "write" || form.install === undefined) && answers[place] === "accepted",
          );
          // What was refused has stored nothing, and what was accepted has.
          expect(form.writes() - before).toBe(written.length);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("a history out of order is told as such", () => {
    const late = { name: "a", mode: "exclusive", token: 1 } as const;
    const newer = { name: "a", mode: "shared", token: 2 } as const;
    expect(brokenOrder([ask(newer, true), ask(late, true)])).toMatch(/^I26/u);
    expect(brokenOrder([ask(late, true), ask(newer, false)])).toMatch(/^I26/u);
    expect(brokenOrder([ask(newer, true), ask(late, false)])).toBeNull();
  });
});
