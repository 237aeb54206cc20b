import { describe, expect, test } from "vitest";
import { decideStatus, statusOfRecord } from "../../src/core/lock/status.ts";
import type { Grant } from "../../src/core/lock/record.ts";
import type { LockStatus } from "../../src/core/lock/views.ts";
import { grantOf, start, ticketOf, World } from "./world.ts";

function statusIn(world: World, clockErrorMs = 0): LockStatus {
  return world.apply((snapshot) =>
    decideStatus(snapshot, { namespace: "ns", name: "a", clockErrorMs }),
  );
}

describe("status", () => {
  test("of an untouched name is free with token 0 and leaves no record [L107] [LS1]", () => {
    const world = new World();
    expect(statusIn(world)).toEqual({
      name: "a",
      state: "free",
      mode: null,
      token: 0,
      counter: 0,
      holders: [],
      depth: 0,
      queue: [],
      now: start,
      authoritative: false,
    });
    expect(world.keys("lock")).toEqual([]);
  });

  const pending = { state: "pending", spanMs: 5_000, expiresAt: start + 5_000 } as const;
  const delayed = { lockDelayMs: 60_000 } as const;
  const shared = { mode: "shared" } as const;
  const rows: { title: string; grants: readonly Grant[]; at: number; says: Partial<LockStatus> }[] =
    [
      {
        title: "a live exclusive grant is held",
        grants: [grantOf("a1")],
        at: 29_999,
        says: { state: "held", mode: "exclusive", token: 1 },
      },
      {
        title: "a grant at its end is lapsed and has no live token",
        grants: [grantOf("a1")],
        at: 30_000,
        says: { state: "lapsed", mode: null, token: 0, counter: 1 },
      },
      {
        title: "a lapse inside its delay is delayed",
        grants: [grantOf("a1", delayed)],
        at: 30_000,
        says: { state: "delayed", mode: null, token: 0 },
      },
      {
        title: "an unconfirmed grant is pending",
        grants: [grantOf("a1", pending)],
        at: 0,
        says: { state: "pending", mode: "exclusive", token: 1 },
      },
      {
        title: "a claim is claimed",
        grants: [grantOf("a1", { kind: "claim" })],
        at: 0,
        says: { state: "claimed" },
      },
      {
        title: "shared holders are shared, the newest live token shows",
        grants: [grantOf("a1", shared), grantOf("a2", { ...shared, token: 2 })],
        at: 0,
        says: { state: "shared", mode: "shared", token: 2 },
      },
      {
        title: "a barred grant is delayed",
        grants: [
          grantOf("a1", {
            ...delayed,
            expiresAt: start,
            forced: { by: { host: "x", pid: 1 }, reason: "r" },
          }),
        ],
        at: 1,
        says: { state: "delayed", token: 0 },
      },
    ];
  test.each(rows)("$title [L107] [I28]", ({ grants, at, says }) => {
    const world = new World().withLock({ grants });
    world.now = start + at;
    const before = world.text();
    expect(statusIn(world)).toMatchObject(says);
    expect(world.text()).toBe(before);
  });

  test("within the clock error shows the grant as others see it [L53]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.now = start + 30_005;
    expect(statusIn(world, 10).state).toBe("held");
  });

  test("of a lapsed lock with a waiter grants nothing, however often [L107] [LS149] [I28]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    world.withPresence("B");
    world.now = start + 30_000;
    const before = world.text();
    for (let i = 0; i < 100; i += 1) statusIn(world);
    expect(world.text()).toBe(before);
    expect(statusIn(world)).toMatchObject({ queue: [{ position: 0, owner: "B" }], depth: 1 });
  });

  test("shows at most 100 tickets, counts all, and names no ids [L66] [LS156]", () => {
    const world = new World().withLock({ grants: [grantOf("secret-a")] });
    for (let i = 1; i <= 300; i += 1) world.acquire("B", `secret-${i}`);
    const status = statusIn(world);
    expect(status.depth).toBe(300);
    expect(status.queue).toHaveLength(100);
    expect(status.queue.map(({ position }) => position)).toEqual([...Array(100).keys()]);
    expect(JSON.stringify(status)).not.toContain("secret");
  });

  test("of a listed record is that record's [L108]", () => {
    const world = new World().withLock({ limit: 3, grants: [grantOf("a1")] }, "b/c");
    const value = world.get(["lock", "ns", "b/c"]) ?? null;
    const scene = { now: start, clockErrorMs: 0 };
    expect(statusOfRecord(["lock", "ns", "b/c"], value, scene)).toMatchObject({
      name: "b/c",
      state: "held",
      limit: 3,
      depth: 0,
    });
  });
});
