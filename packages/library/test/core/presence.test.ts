import { describe, expect, test } from "vitest";
import { decideAbsence, decideClock, decidePresence } from "../../src/core/lock/space-records.ts";
import { decideSweepTurn } from "../../src/core/lock/sweep.ts";
import { actor, grantOf, start, ticketOf, World } from "./world.ts";

describe("passing over", () => {
  test("a ticket without presence, with one that is over, or given up [L21] [LS39] [I6]", () => {
    const world = new World().withLock({
      queue: [
        ticketOf("none", 1, { presence: "N" }),
        ticketOf("over", 2, { presence: "O" }),
        ticketOf("gave-up", 3, { presence: "L", giveUpAt: start }),
        ticketOf("live", 4, { presence: "L" }),
      ],
    });
    world.withPresence("O", start).withPresence("L", start + 1);
    expect(world.try("X", "x1").kind).toBe("refused");
    expect(world.grants()).toBe("live:1:pending");
    expect(world.queue()).toBe("");
    expect(world.ended()).toBe("");
    expect(world.validUntil).toBe(start + 1);
  });

  test("counts the clock error towards a presence [L53] [I6]", () => {
    const world = new World().withLock({ queue: [ticketOf("b1", 1)] }).withPresence("B", start);
    world.settings = { clockErrorMs: 10 };
    world.now += 9;
    world.try("X", "x1");
    expect(world.grants()).toBe("b1:1:pending");
    const later = new World().withLock({ queue: [ticketOf("b1", 1)] }).withPresence("B", start);
    later.settings = { clockErrorMs: 10 };
    later.now += 10;
    expect(later.try("X", "x1").kind).toBe("granted");
  });

  test("goes on to the next in the commit that would have granted it [L20] [L21]", () => {
    const world = new World().withLock({
      grants: [grantOf("a1")],
      queue: [ticketOf("b1", 1), ticketOf("c1", 2, { presence: "C" })],
    });
    world.withPresence("C");
    world.release("A", "a1");
    expect(world.commits).toBe(1);
    expect(world.grants()).toBe("c1:2:pending");
  });

  test("a dead exclusive head lets those behind it join the shared holders [L18] [I13]", () => {
    const shared = { mode: "shared" } as const;
    const world = new World().withLock({
      grants: [grantOf("s1", shared)],
      queue: [ticketOf("x1", 1), ticketOf("s2", 2, { presence: "C", ...shared })],
    });
    world.withPresence("C");
    world.look("C", ["s2", 2]);
    expect(world.grants()).toBe("s1:1:held s2:2:held");
  });

  test("is not asked for a lone head that shared holders keep out [L132]", () => {
    const world = new World().withLock({
      grants: [
        grantOf("s1", { mode: "shared" }),
        grantOf("s2", { token: 2, mode: "shared" }),
        grantOf("s3", { token: 3, mode: "shared" }),
      ],
      queue: [ticketOf("x1", 1)],
    });
    world.release("A", "s1");
    expect(world.reads).toEqual(["lock/ns/a"]);
  });

  test("reads presences in growing numbers, and one for a live head [L132] [I35]", () => {
    const queue = Array.from({ length: 60 }, (_, index) =>
      ticketOf(`d${index}`, index + 1, { presence: `D${index}` }),
    );
    const world = new World().withLock({ queue }).withPresence("D0");
    world.try("X", "x1");
    expect(world.reads).toEqual(["lock/ns/a", "presence/ns/D0"]);
    const dead = new World().withLock({ queue });
    expect(dead.try("X", "x1").kind).toBe("granted");
    expect(dead.reads.filter((key) => key.startsWith("presence/"))).toHaveLength(60);
  });

  test("200 dead tickets of 200 processes are gone before a try is judged [L131] [LS167]", () => {
    const queue = Array.from({ length: 90 }, (_, index) =>
      ticketOf(`d${index}`, index + 1, { presence: `D${index}` }),
    );
    const world = new World().withLock({ queue });
    world.settings = { wideningMax: 40 };
    expect(world.try("X", "x1")).toEqual({ kind: "unjudged" });
    expect(world.more).toBe(true);
    expect(world.lock().queue).toHaveLength(50);
    expect(world.reads.length).toBeLessThanOrEqual(41);
    expect(world.try("X", "x1")).toEqual({ kind: "unjudged" });
    expect(world.try("X", "x1").kind).toBe("granted");
    expect(world.more).toBe(false);
  });

  test("a release leaves what the bound left over to the next decision [L19] [L131] [LS34]", () => {
    const queue = Array.from({ length: 6 }, (_, index) =>
      ticketOf(`s${index}`, index + 1, { presence: `S${index}`, mode: "shared" }),
    );
    const world = new World().withLock({ grants: [grantOf("x1")], queue });
    for (let i = 0; i < 6; i += 1) world.withPresence(`S${i}`);
    world.settings = { wideningMax: 4 };
    expect(world.release("A", "x1")).toBe(true);
    expect(world.more).toBe(true);
    expect(world.queue()).toBe("s4 s5");
    world.look("S5", ["s5", 6]);
    expect(world.queue()).toBe("");
    expect(
      world
        .lock()
        .grants.map(({ id }) => id)
        .join(" "),
    ).toBe("s0 s1 s2 s3 s4 s5");
  });
});

describe("the presence of a space", () => {
  test("is written for its length from now, and deleted when it closes [L21] [L119]", () => {
    const world = new World();
    const scope = world.scope("A");
    expect(world.apply((snapshot) => decidePresence(snapshot, scope))).toBe(start + 15_000);
    expect(world.get(["presence", "ns", "A"])).toEqual({
      v: 1,
      actor,
      aliveUntil: start + 15e3,
      spanMs: 15e3,
    });
    world.apply((snapshot) => decideAbsence(snapshot, scope));
    expect(world.keys("presence")).toEqual([]);
    world.apply((snapshot) => decideAbsence(snapshot, scope));
    expect(world.written).toEqual([]);
  });
});

describe("the agreed clock bound", () => {
  test("is written by the first client and told to all others [LS180]", () => {
    const world = new World();
    const agree = (clockErrorMs: number, isReadOnly = false): number =>
      world.apply((snapshot) =>
        decideClock(snapshot, { namespace: "ns", clockErrorMs, isReadOnly }),
      );
    expect(agree(7, true)).toBe(7);
    expect(world.keys("internal")).toEqual([]);
    expect(agree(10)).toBe(10);
    expect(agree(50)).toBe(10);
    expect(agree(0, true)).toBe(10);
  });
});

describe("engine time that steps back", () => {
  test("a live lease keeps its end by renewing [L55] [LS90]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.now -= 3_600_000;
    expect(world.renew("A", "a1")).toMatchObject({ expiresAt: world.now + 30_000 });
  });

  test("a dead holder's end is set to now plus its span by the next decision [L55] [LS90]", () => {
    const world = new World().withLock({ grants: [grantOf("a1", { spanMs: 20_000 })] });
    world.now -= 3_600_000;
    expect(world.try("B", "b1").kind).toBe("refused");
    expect(world.lock().grants[0]?.expiresAt).toBe(world.now + 20_000);
    world.now += 20_000;
    expect(world.try("B", "b1").kind).toBe("granted");
  });

  test("an end within its span and the clock error stays as it is [L55]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.settings = { clockErrorMs: 10 };
    world.now -= 10;
    world.try("B", "b1");
    expect(world.written).toEqual([]);
    world.now -= 1;
    world.try("B", "b1");
    expect(world.lock().grants[0]?.expiresAt).toBe(world.now + 30_000);
  });

  test("a presence too far away is set to now plus its span [L55]", () => {
    const world = new World().withLock({ queue: [ticketOf("b1", 1)] });
    world.withPresence("B", start + 3_600_000);
    world.try("X", "x1");
    expect(world.grants()).toBe("b1:1:pending");
    expect(world.get(["presence", "ns", "B"])).toMatchObject({ aliveUntil: start + 15_000 });
  });

  test("a lapsed barred entry counts once more for its span, and stays barred [L55]", () => {
    const world = new World().withLock({ grants: [grantOf("a1", { lockDelayMs: 2_000 })] });
    world.force("X");
    world.now -= 3_600_000;
    expect(world.try("B", "b1").kind).toBe("refused");
    expect(world.renew("A", "a1")).toMatchObject({ kind: "lost", how: "forced" });
  });
});

describe("records of a space that cannot be read", () => {
  const wrong = ["text", [], { v: 2, errorMs: 0 }, { v: 1 }, { v: 1, errorMs: -1, at: 1.5 }];

  test.each(wrong)("%j is refused, never written over [L118]", (value) => {
    const world = new World();
    const scope = world.scope("S");
    const command = { namespace: "ns", clockErrorMs: 0, isReadOnly: false };
    world.put(["internal", "ns", "clock"], value);
    world.put(["internal", "ns", "sweep"], value);
    const corrupt = expect.objectContaining({ code: "RECORD_CORRUPT" });
    expect(() => world.apply((snapshot) => decideClock(snapshot, command))).toThrow(corrupt);
    const turn = { scope, periodMs: 60_000 };
    expect(() => world.apply((snapshot) => decideSweepTurn(snapshot, turn))).toThrow(corrupt);
  });
});
