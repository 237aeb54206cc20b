import { describe, expect, test } from "vitest";
import { explore } from "./explorer.ts";
import { exploreFence, fenceWorld } from "./fence-world.ts";
import { canonicalText, hashOf } from "./key.ts";
import { production } from "./machine.ts";
import { smallWorlds, tinyWorld } from "./worlds.ts";

describe("every interleaving of a small world", () => {
  // The ids are those of the invariants that the explorer checks after every step.
  test.each(smallWorlds)(
    "$name: keeps I1 to I13, I18 to I21, I23 to I25, I29, I31, I34",
    (world) => {
      const stage = { machine: production, world };
      const report = explore(stage, { statesMax: 400_000, isLivenessAsked: true });
      expect(report.failure?.trace ?? [], report.failure?.broken ?? "").toEqual([]);
      expect(report.isComplete).toBe(true);
    },
    120_000,
  );

  test(`${fenceWorld}: keeps I26 [L67]`, () => {
    const report = exploreFence(production);
    expect(report.failure?.trace ?? [], report.failure?.broken ?? "").toEqual([]);
    expect(report.isComplete).toBe(true);
    expect(report.states).toBe(4 + 16 + 80 + 384);
  });

  test("a broken invariant is told with the shortest way to it", () => {
    const world = { ...tinyWorld, depthMax: 100 };
    const machine = { ...production, engine: { ...production.engine, tellsUncommitted: true } };
    const { failure } = explore({ machine, world }, { statesMax: 100_000 });
    expect(failure).toEqual({
      broken: "I2: a token is told that is not stored",
      trace: ["A asks, unknown-lost"],
    });
  });
});

/** Hashes of the canonical states that an exploration of the tiny world visits. */
function keysOf(isReduced: boolean): ReadonlySet<number> {
  const keys = new Set<number>();
  const stage = { machine: production, world: tinyWorld };
  const report = explore(stage, {
    statesMax: 1_000_000,
    isReduced,
    onState: (state) => keys.add(hashOf(canonicalText(state, tinyWorld))),
  });
  expect(report.failure).toBeNull();
  if (!isReduced) expect(report.states).toBeGreaterThan(2 * keys.size);
  return keys;
}

describe("the reduction", () => {
  test("visits the canonical states that an unreduced exploration visits, and no others", () => {
    const reduced = keysOf(true);
    const whole = keysOf(false);
    expect(reduced.size).toBeGreaterThan(500);
    expect(whole).toEqual(reduced);
  });

  test("tells texts apart by 53 bits", () => {
    const hashes = new Set<number>();
    for (let i = 0; i < 200_000; i += 1) hashes.add(hashOf(`state ${i}`));
    expect(hashes.size).toBe(200_000);
    expect(Math.max(...[...hashes].slice(0, 1_000))).toBeGreaterThan(2 ** 51);
  });
});
