import { describe, expect, test } from "vitest";

import { modelMutants, mutated, quickMutants } from "./lease-mutants.ts";
import { findMutant, leaseModel, livenessFormulas, quickBounds, SpinModel } from "./spin.ts";

/** Fewer states than this mean that the model has lost some of its steps. */
const statesMin = { lock: 50_000, resource: 45_000 };

describe("the model of one lock, explored by Spin", { timeout: 120_000 }, () => {
  test.concurrent("the lock keeps its invariants in every state, and whoever waits comes to an end [I1] [I2] [I5] [I6] [I7] [I8] [I9] [I10]", async () => {
    using model = await SpinModel.compile(leaseModel, quickBounds.lock, 1);
    const properties = ["assertions", ...livenessFormulas] as const;
    const reports = await Promise.all(properties.map((property) => model.verify(property)));
    for (const report of reports) {
      expect(report).toMatchObject({ broken: null, isComplete: true });
      expect(report.states).toBeGreaterThan(statesMin.lock);
    }
  });

  test.concurrent("the fenced resource takes conflicting writes in token order and refuses no newest holder", async () => {
    using model = await SpinModel.compile(leaseModel, quickBounds.resource, 0);
    const found = await model.verify("assertions");
    expect(found).toMatchObject({ broken: null, isComplete: true });
    expect(found.states).toBeGreaterThan(statesMin.resource);
  });

  test.concurrent.for(quickMutants)("is told apart from one in which $name", async (mutant) => {
    expect((await findMutant(mutant)).broken).toBe(mutant.breaks);
  });

  test("each mutant changes one line that is there", () => {
    for (const mutant of modelMutants) expect(mutated(leaseModel, mutant)).not.toBe(leaseModel);
  });

  test("every array of names begins with one of them, or the check would be empty", () => {
    const arrays = leaseModel.match(/^(?:hidden )?mtype \w+\[.*$/gm) ?? [];
    expect(arrays.length).toBeGreaterThan(3);
    expect(arrays.filter((line) => !/ = \w+;/.test(line))).toEqual([]);
  });
});
