import { expect, test } from "vitest";

import { simulate, type RunReport } from "./simulate.ts";

/** Runs that have failed once, each with what was wrong then. */
const keptSeeds: readonly (readonly [number, string])[] = [
  [4, "a late answer that told of a grant again made the space cancel the live lease"],
  [19, "the same, for a lease that was renewed already"],
  [139, "the same, seen only at the end of a hold"],
  [1_941, "one command forced more grants than a record remembers, and the checker forgot one"],
];
const runs = 60;
/** Events that must have come up, or the faults did not bite. */
const required = [
  "unknown-applied",
  "doubled",
  "pause",
  "cut",
  "wall",
  "die",
  "reclaimed",
  "withdrawn",
  "cancelled",
  "forced",
  "superseded",
  "told ticketLost",
  "told lost",
];

test.for(keptSeeds)("a kept seed holds: %i, %s", async ([seed]) => {
  expect((await simulate(seed)).violations).toEqual([]);
});

test(`${runs} runs under faults keep every invariant, and every call settles [I1] [I3] [I4] [I7] [I8] [I9] [I10] [I12] [I18] [I31]`, async () => {
  const reports: RunReport[] = [];
  for (let seed = 1_000; seed < 1_000 + runs; seed += 1) reports.push(await simulate(seed));
  const failed = reports.filter(({ violations }) => violations.length > 0);
  expect(failed.map(({ seed, violations }) => ({ seed, violations }))).toEqual([]);
  for (const event of required) {
    const count = reports.reduce((sum, { rare }) => sum + (rare.get(event) ?? 0), 0);
    expect(count, `the event "${event}" never came up`).toBeGreaterThan(0);
  }
});

test("the same seed gives the same run [I30]", async () => {
  const [one, other] = [await simulate(77), await simulate(77)];
  expect(other.hash).toBe(one.hash);
  expect(other.commits).toBe(one.commits);
});
