import { describe, expect, test } from "vitest";
import { pageTicketsMax } from "../../src/core/lock/record.ts";
import { grantOf, start, ticketOf, World } from "./world.ts";

const pending = { state: "pending", spanMs: 5_000, expiresAt: start + 5_000 } as const;

describe("a look", () => {
  test("that changes nothing writes nothing and says what keeps its ticket out [L132]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    expect(world.look("B", ["b1", 1])).toMatchObject({
      answers: [],
      denial: { reason: "held", position: 0 },
      expectedEnd: start + 30_000,
    });
    expect(world.written).toEqual([]);
    expect(world.validUntil).toBe(start + 30_000);
  });

  test("confirms a pending grant with the full length from now [L12] [L22] [L23] [LS25]", () => {
    const world = new World().withLock({
      grants: [grantOf("b1", { presence: "B", leaseMs: 1_000, ...pending })],
    });
    world.now += 4_999;
    expect(world.look("B", ["b1", 1])).toMatchObject({
      answers: [{ id: "b1", kind: "granted", grant: { expiresAt: start + 5_999 } }],
      denial: null,
      expectedEnd: null,
    });
    expect(world.grants()).toBe("b1:1:held");
    expect(world.lock().grants[0]?.spanMs).toBe(1_000);
    expect(world.validUntil).toBe(start + 5_000);
  });

  test("at the pending end fails although nobody was granted [L23] [L24] [LS42] [I8]", () => {
    const world = new World().withLock({ grants: [grantOf("b1", { presence: "B", ...pending })] });
    world.now += 5_000;
    expect(world.look("B", ["b1", 1])).toMatchObject({
      answers: [{ id: "b1", kind: "gone", how: "withdrawn" }],
    });
    expect(world.effects?.withdrawn).toHaveLength(1);
    expect(world.grants()).toBe("");
  });

  test("inside the clock error after its pending end fails, too [L23] [I8]", () => {
    const world = new World().withLock({ grants: [grantOf("b1", { presence: "B", ...pending })] });
    world.settings = { clockErrorMs: 10 };
    world.now += 5_005;
    expect(world.look("B", ["b1", 1]).answers).toMatchObject([{ kind: "gone", how: "withdrawn" }]);
  });

  test("grants its own ticket at once, held [L22] [L23] [LS26]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    world.now += 30_000;
    expect(world.look("B", ["b1", 1]).answers).toMatchObject([{ kind: "granted", id: "b1" }]);
    expect(world.grants()).toBe("b1:2:held");
    expect(world.effects?.granted).toMatchObject([{ id: "b1", token: 2 }]);
  });

  test("withdraws another's pending grant that is over, without lock-delay [L24] [LS41]", () => {
    const world = new World().withLock({
      grants: [grantOf("b1", { presence: "B", lockDelayMs: 2_000, ...pending })],
      queue: [ticketOf("c1", 2, { presence: "C" })],
    });
    world.now += 5_000;
    expect(world.look("C", ["c1", 2]).answers).toMatchObject([{ kind: "granted", id: "c1" }]);
    expect(world.grants()).toBe("c1:2:held");
    expect(world.ended()).toBe("b1:withdrawn");
  });

  test("answers for several tickets at once, each with what became of it", () => {
    const world = new World().withLock({
      grants: [grantOf("b1", { presence: "B", mode: "shared", ...pending })],
      queue: [ticketOf("b3", 3)],
      ended: [{ id: "b2", token: 0, how: "cancelled", at: start }],
    });
    expect(world.look("B", ["b1", 1], ["b2", 2], ["b3", 3])).toMatchObject({
      answers: [
        { id: "b1", kind: "granted" },
        { id: "b2", kind: "gone", how: "cancelled" },
      ],
      denial: { position: 0 },
    });
  });

  test("does not say gone of a ticket in a page that it has not read [L126]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    for (let i = 1; i <= 130; i += 1) world.acquire("B", `b${i}`);
    expect(world.look("B", ["b100", 100])).toMatchObject({
      answers: [],
      denial: { position: 130 },
    });
    expect(world.look("B", ["other", 3]).answers).toMatchObject([{ kind: "gone", how: null }]);
  });

  test("leaves alone what went on under another presence [L130] [LS164]", () => {
    const world = new World().withLock({
      grants: [grantOf("b1", { presence: "C", mode: "shared", ...pending })],
      queue: [ticketOf("b2", 2, { presence: "C" })],
    });
    const before = world.text();
    expect(world.look("B", ["b1", 1], ["b2", 2]).answers).toEqual([
      { id: "b1", kind: "gone", how: null },
      { id: "b2", kind: "gone", how: null },
    ]);
    world.put(["presence", "ns", "C"], null);
    expect(before).toContain('"state":"pending"');
    expect(world.grants()).toBe("b1:1:pending");
  });

  test("does not take a barred grant for its own [L25] [L111]", () => {
    const forced = { by: { host: "x", pid: 1 }, reason: "why" };
    const world = new World().withLock({
      grants: [grantOf("b1", { presence: "B", lockDelayMs: 2_000, expiresAt: start, forced })],
      ended: [{ id: "b1", token: 1, how: "forced", at: start }],
    });
    expect(world.look("B", ["b1", 1]).answers).toEqual([{ id: "b1", kind: "gone", how: "forced" }]);
  });

  test("keeps its own ticket although its presence was over, and renews that [L17] [LS176]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    world.withPresence("B", start + 10);
    world.now += 30_000;
    world.look("B", ["b1", 1]);
    expect(world.grants()).toBe("b1:2:held");
    expect(world.get(["presence", "ns", "B"])).toMatchObject({ aliveUntil: world.now + 15_000 });
  });

  test("passes its own ticket over once its time to give up has come [L21]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    world.now += 35_000;
    expect(world.look("B", ["b1", 1]).answers).toEqual([{ id: "b1", kind: "gone", how: null }]);
    expect(world.queue()).toBe("");
  });
});

describe("giving up", () => {
  test("removes the ticket and tells what kept it out [L26] [L27] [L28] [LS36]", () => {
    const world = new World().withLock({
      grants: [grantOf("a1")],
      queue: [ticketOf("b1", 1), ticketOf("c1", 2, { presence: "C" })],
    });
    expect(world.giveUp("B", "b1", 1)).toMatchObject({
      kind: "removed",
      denial: { position: 0, depth: 2, holders: [{ token: 1 }] },
    });
    expect(world.queue()).toBe("c1");
    expect(world.lock().counter).toBe(1);
  });

  test("takes a grant that the advance finds, though slightly late [L26] [LS37] [I21]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    world.now += 30_000;
    expect(world.giveUp("B", "b1", 1)).toMatchObject({ kind: "granted", grant: { token: 2 } });
  });

  test("takes a pending grant for its full length [L23] [L26]", () => {
    const world = new World().withLock({ grants: [grantOf("b1", { presence: "B", ...pending })] });
    expect(world.giveUp("B", "b1", 1)).toMatchObject({
      kind: "granted",
      grant: { expiresAt: start + 30_000 },
    });
  });

  test("lets those behind it in when it alone kept them out [L19] [L27]", () => {
    const world = new World().withLock({
      grants: [grantOf("a1", { mode: "shared" })],
      queue: [ticketOf("b1", 1), ticketOf("c1", 2, { presence: "C", mode: "shared" })],
    });
    world.withPresence("C");
    expect(world.giveUp("B", "b1", 1).kind).toBe("removed");
    expect(world.grants()).toBe("a1:1:held c1:2:pending");
  });

  test("is gone when nothing of it is stored, and says how it ended [L16]", () => {
    const world = new World().withLock({
      ended: [{ id: "b1", token: 0, how: "cancelled", at: start }],
    });
    expect(world.giveUp("B", "b1", 1)).toEqual({ id: "b1", kind: "gone", how: "cancelled" });
    expect(world.giveUp("B", "b2", 2)).toEqual({ id: "b2", kind: "gone", how: null });
  });

  test("finds its ticket in the page of its number alone [L126]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    for (let i = 1; i <= 200; i += 1) world.acquire("B", `b${i}`);
    expect(world.giveUp("B", "b130", 130)).toMatchObject({ kind: "removed" });
    expect(world.reads.filter((key) => key.startsWith("queue/"))).toHaveLength(1);
    expect(world.lock().queue.length + (world.lock().pages?.depth ?? 0)).toBe(199);
    const page = world.page(Math.floor(130 / pageTicketsMax));
    expect(page?.tickets).toHaveLength(pageTicketsMax - 1);
  });

  test("removes nothing that went on under another presence [L130] [LS164]", () => {
    const world = new World().withLock({
      grants: [grantOf("a1")],
      queue: [ticketOf("b1", 1, { presence: "C" })],
    });
    expect(world.giveUp("B", "b1", 1)).toEqual({ id: "b1", kind: "gone", how: null });
    expect(world.queue()).toBe("b1");
  });

  test("is not judged while dead tickets are left over [L131] [LS167] [I21]", () => {
    const queue = [1, 2, 3].map((n) => ticketOf(`d${n}`, n, { presence: `D${n}` }));
    const world = new World().withLock({ queue: [...queue, ticketOf("b1", 4)] });
    world.settings = { wideningMax: 2 };
    expect(world.giveUp("B", "b1", 4)).toEqual({ kind: "unjudged" });
    expect(world.more).toBe(true);
    expect(world.queue()).toBe("d3 b1");
    expect(world.giveUp("B", "b1", 4).kind).toBe("granted");
  });
});

describe("a cancel", () => {
  test("removes a ticket and remembers the attempt [L16] [L27] [L30] [LS44]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    expect(world.cancel("B", "b1", 1)).toBe("ticket");
    expect(world.queue()).toBe("");
    expect(world.ended()).toBe("b1:cancelled");
    expect(world.acquire("B", "b1", { isRepeat: true })).toEqual({
      kind: "gone",
      how: "cancelled",
    });
  });

  test("finds a ticket whose number is not known", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    for (let i = 1; i <= 130; i += 1) world.acquire("B", `b${i}`);
    expect(world.cancel("B", "b120")).toBe("ticket");
  });

  test("ends a held or pending grant and grants the next one [L20] [L30] [LS45] [LS49]", () => {
    for (const state of ["held", "pending"] as const) {
      const world = new World().withLock({
        grants: [grantOf("b1", { presence: "B", state, spanMs: 30_000 })],
        queue: [ticketOf("c1", 1, { presence: "C" })],
      });
      world.withPresence("C");
      expect(world.cancel("B", "b1", 1)).toBe("grant");
      expect(world.grants()).toBe("c1:2:pending");
      expect(world.ended()).toBe("b1:cancelled");
    }
  });

  test("of an attempt that is not stored defeats a commit under way [L117] [L128] [I24]", () => {
    const world = new World();
    world.put(["floor", "ns"], { v: 1, floor: 7 });
    expect(world.cancel("B", "b1")).toBe("nothing");
    expect(world.ended()).toBe("b1:cancelled");
    expect(world.lock().counter).toBe(7);
    expect(world.cancel("B", "b1")).toBe("nothing");
    expect(world.written).toEqual(["lock/ns/a"]);
  });

  test("keeps how the attempt had ended before [L16]", () => {
    const world = new World();
    world.acquire("A", "a1");
    world.release("A", "a1");
    world.cancel("A", "a1");
    expect(world.ended()).toBe("a1:released");
  });

  test("from another presence ends nothing [L130] [LS164] [I34]", () => {
    const world = new World().withLock({
      grants: [grantOf("a1")],
      queue: [ticketOf("b1", 1, { presence: "C" })],
    });
    expect(world.cancel("B", "b1", 1)).toBe("foreign");
    expect(world.cancel("B", "a1")).toBe("foreign");
    expect(world.grants()).toBe("a1:1:held");
    expect(world.queue()).toBe("b1");
  });

  test("leaves a barred grant to run out its lock-delay [L57] [I29]", () => {
    const world = new World();
    world.acquire("A", "a1", { lockDelayMs: 2_000 });
    world.force("X");
    expect(world.cancel("A", "a1")).toBe("nothing");
    expect(world.grants()).toBe("a1:1:barred");
    expect(world.ended()).toBe("a1:forced");
  });
});
