import { expect, test } from "vitest";

import { decideUpgrade } from "../../src/core/lock/upgrade.ts";

import { lostWakeUp } from "./batch-invariants.ts";
import { BatchWalk, names } from "./batch-walk.ts";
import { grantOf, World } from "./world.ts";

const seeds = 400;
const steps = 70;

test("random commands on several locks keep the invariants [I1] [I3] [I4] [I12] [I13] [I14] [I15] [I16] [I17] [L78] [L79] [L131] [L133]", () => {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const walk = new BatchWalk(seed);
    try {
      for (let step = 0; step < steps; step += 1) walk.step();
      walk.settle();
      const lost = lostWakeUp(walk.world, names, walk.alive);
      expect(lost, "I13: grantable, and nobody notices").toBeUndefined();
    } catch (error) {
      throw new Error(`seed ${seed}:\n  ${walk.log.join("\n  ")}`, { cause: error });
    }
  }
});

test("a wish to upgrade ends with its lease, also within one decision [I17] [L74]", () => {
  for (const how of ["released", "forced"] as const) {
    const world = new World().withLock({
      grants: [
        grantOf("a1", { mode: "shared", token: 1 }),
        grantOf("b1", { mode: "shared", token: 2, presence: "B", owner: "B" }),
      ],
      counter: 2,
    });
    const scope = world.scope("A");
    const wish = { scope, name: "a", id: "a1", token: 1, change: 1, attempt: "w", waitMs: null };
    world.apply((snapshot) => decideUpgrade(snapshot, wish));
    expect(world.queue()).toBe("w");
    if (how === "released") world.release("A", "a1");
    else world.force("X", { token: 1 });
    expect(world.queue()).toBe("");
    expect(world.grants()).toBe("b1:2:held");
  }
});
