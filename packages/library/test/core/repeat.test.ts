import { describe, expect, test } from "vitest";
import { decideAcquire } from "../../src/core/lock/acquire.ts";
import { pageTicketsMax } from "../../src/core/lock/record.ts";
import { acquireOf, grantOf, start, ticketOf, World } from "./world.ts";

describe("a repeated attempt", () => {
  test("finds its held grant and gives it the full length again [L15] [I23] [LS75] [LS76]", () => {
    const world = new World();
    world.acquire("A", "a1");
    world.now += 10_000;
    expect(world.acquire("A", "a1", { isRepeat: true })).toMatchObject({
      kind: "granted",
      grant: { token: 1, expiresAt: start + 40_000 },
    });
    expect(world.grants()).toBe("a1:1:held");
  });

  test("does not shorten what a later change of the lease obtained [L15] [L129] [I34]", () => {
    const world = new World();
    world.acquire("A", "a1");
    world.renew("A", "a1", { how: "extend", lengthMs: 60_000, change: 1 });
    expect(world.acquire("A", "a1", { isRepeat: true })).toMatchObject({
      grant: { expiresAt: start + 60_000 },
    });
  });

  test("confirms its pending grant and takes it into its presence [L15] [L23]", () => {
    const grant = grantOf("b1", { state: "pending", spanMs: 5_000, expiresAt: start + 5_000 });
    const world = new World().withLock({ grants: [{ ...grant, presence: "B" }] });
    expect(world.acquire("C", "b1", { isRepeat: true })).toMatchObject({
      grant: { expiresAt: start + 30_000 },
    });
    expect(world.lock().grants[0]).toMatchObject({ state: "held", presence: "C" });
  });

  test("ends a grant found over instead of reviving it [L15] [LS175] [I8]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    world.withPresence("B", start + 40_000);
    world.now = start + 30_000;
    expect(world.acquire("A", "a1", { isRepeat: true })).toEqual({
      kind: "gone",
      how: "reclaimed",
    });
    expect(world.grants()).toBe("b1:2:pending");
  });

  test("finds its own pending grant over and does not queue again under its id [L16] [L24]", () => {
    const pending = { state: "pending", spanMs: 5_000, expiresAt: start + 5_000 } as const;
    const world = new World().withLock({
      grants: [grantOf("b1", { presence: "B", ...pending })],
      queue: [ticketOf("c1", 2, { presence: "C" })],
    });
    world.withPresence("C");
    world.now += 5_000;
    expect(world.acquire("B", "b1", { isRepeat: true })).toEqual({
      kind: "gone",
      how: "withdrawn",
    });
    expect(world.grants()).toBe("c1:2:pending");
    expect(world.queue()).toBe("");
  });

  test("is known as ended although its own decision pushes it out of the list [L16] [I6]", () => {
    const ended = ["b1", "x1", "x2", "x3"].map((id) => ({
      id,
      token: 0,
      how: "released" as const,
      at: start,
    }));
    const pending = { state: "pending", spanMs: 5_000, expiresAt: start + 5_000 } as const;
    const world = new World().withLock({ grants: [grantOf("c1", pending)], ended });
    world.now += 5_000;
    expect(world.acquire("B", "b1", { isRepeat: true })).toEqual({ kind: "gone", how: "released" });
    expect(world.grants()).toBe("");
  });

  test("whose ticket has just been passed over as dead is gone, not granted [L21] [I6]", () => {
    const world = new World().withLock({ queue: [ticketOf("b1", 1)] });
    world.now += 35_000;
    expect(world.acquire("B", "b1", { isRepeat: true })).toEqual({ kind: "gone", how: null });
    expect(world.grants()).toBe("");
    expect(world.queue()).toBe("");
  });

  test("withdraws what is over of others before it grants [L24] [I29]", () => {
    const pending = { state: "pending", spanMs: 5_000, expiresAt: start + 5_000 } as const;
    const world = new World().withLock({
      grants: [
        grantOf("a1", { mode: "shared" }),
        grantOf("p1", { token: 2, mode: "shared", presence: "P", ...pending }),
      ],
      queue: [ticketOf("s1", 1, { mode: "shared" })],
    });
    world.withPresence("B");
    world.now = start + 5_000;
    world.acquire("A", "a1", { mode: "shared", isRepeat: true });
    expect(world.ended()).toBe("p1:withdrawn");
    expect(world.effects?.reclaimed).toEqual([]);
  });

  test("keeps its place in the queue, under the new presence [L15] [LS164] [LS30]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.acquire("B", "b1");
    world.acquire("C", "c1");
    expect(world.acquire("D", "b1", { isRepeat: true })).toMatchObject({
      kind: "queued",
      number: 1,
      denial: { position: 0 },
    });
    expect(world.queue()).toBe("b1 c1");
    expect(world.lock().queue[0]?.presence).toBe("D");
    expect(world.get(["presence", "ns", "D"])).toMatchObject({ aliveUntil: start + 15_000 });
  });

  test("writes its record even when nothing in it changes [L128]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.acquire("B", "b1");
    const older = world.prepare((snapshot) =>
      decideAcquire(snapshot, acquireOf("D", "b1", { isRepeat: true })),
    );
    world.acquire("B", "b1", { isRepeat: true });
    expect(world.written).toContain("lock/ns/a");
    expect(world.commit(older)).toBe(false);
  });

  test("is granted from the queue, held at once, when its turn has come [L22] [LS49]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.acquire("B", "b1");
    world.now = start + 30_000;
    expect(world.acquire("D", "b1", { isRepeat: true })).toMatchObject({
      kind: "granted",
      grant: { id: "b1", token: 2, expiresAt: start + 60_000 },
    });
    expect(world.lock().grants[0]).toMatchObject({ state: "held", presence: "D" });
  });

  test("that has ended is never granted again [L16] [LS77]", () => {
    const world = new World();
    world.acquire("A", "a1");
    world.release("A", "a1");
    expect(world.acquire("A", "a1", { isRepeat: true })).toEqual({ kind: "gone", how: "released" });
    expect(world.grants()).toBe("");
  });

  test("that left nothing behind is a first attempt", () => {
    const world = new World();
    expect(world.acquire("A", "a1", { isRepeat: true }).kind).toBe("granted");
  });

  test("looks through all pages for a ticket whose number is not known [L126]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    for (let i = 1; i <= 140; i += 1) world.acquire("B", `b${i}`);
    expect(world.acquire("C", "b135", { isRepeat: true })).toMatchObject({
      kind: "queued",
      number: 135,
      denial: { position: 134 },
    });
    expect(
      world.page(Math.floor(135 / pageTicketsMax))?.tickets.find(({ id }) => id === "b135")
        ?.presence,
    ).toBe("C");
  });

  test("that was barred by force is gone [L16] [L111]", () => {
    const world = new World();
    world.acquire("A", "a1", { lockDelayMs: 2_000 });
    world.force("X");
    for (let i = 0; i < 4; i += 1) world.cancel("A", `other${i}`);
    expect(world.acquire("A", "a1", { isRepeat: true })).toEqual({ kind: "gone", how: null });
    expect(world.grants()).toBe("a1:1:barred");
  });
});
