import { describe, expect, test } from "vitest";
import { decideAcquire } from "../../src/core/lock/acquire.ts";
import { queueKey } from "../../src/core/lock/keys.ts";
import type { LockRecord } from "../../src/core/lock/record.ts";
import {
  decideAdvance,
  decideForget,
  decideRaiseCounter,
  decideRaiseFloor,
  decideSweep,
  decideSweepTurn,
  retentionDefault as retention,
  sweepVerdict,
  type SweepResult,
} from "../../src/core/lock/sweep.ts";
import { acquireOf, actor, grantOf, lockOf, start, ticketOf, World } from "./world.ts";

const day = 86_400_000;

function sweep(world: World, ...names: readonly string[]): SweepResult {
  const command = { scope: world.scope("S"), names, retention };
  return world.apply((snapshot) => decideSweep(snapshot, command));
}

describe("the verdict of the sweep", () => {
  const claim = grantOf("k1", { kind: "claim" });
  const rows: { title: string; record: LockRecord; after: number; verdict: string }[] = [
    { title: "free, fresh", record: lockOf(), after: 599_999, verdict: "keep" },
    { title: "free, idle", record: lockOf(), after: 600_000, verdict: "delete" },
    {
      title: "live lease",
      record: lockOf({ grants: [grantOf("a1", { expiresAt: start + day })] }),
      after: 600_000,
      verdict: "keep",
    },
    {
      title: "lease lapsed for less than the retention",
      record: lockOf({ grants: [grantOf("a1")] }),
      after: 629_999,
      verdict: "keep",
    },
    {
      title: "lease lapsed for the retention",
      record: lockOf({ grants: [grantOf("a1")] }),
      after: 630_000,
      verdict: "delete",
    },
    {
      title: "claim lapsed 1 h ago",
      record: lockOf({ grants: [claim] }),
      after: 3_630_000,
      verdict: "keep",
    },
    {
      title: "claim lapsed for a day",
      record: lockOf({ grants: [claim] }),
      after: 30_000 + day,
      verdict: "delete",
    },
    {
      title: "ticket on a free lock",
      record: lockOf({ queue: [ticketOf("b1", 1)] }),
      after: 600_000,
      verdict: "advance",
    },
    {
      title: "pages on a free lock",
      record: lockOf({ pages: { first: 1, last: 1, depth: 1, exclusive: 1 } }),
      after: 600_000,
      verdict: "advance",
    },
    {
      title: "ticket behind a live lease",
      record: lockOf({
        grants: [grantOf("a1", { expiresAt: start + day })],
        queue: [ticketOf("b1", 1)],
      }),
      after: 600_000,
      verdict: "keep",
    },
    {
      title: "lock-delay still running",
      record: lockOf({
        grants: [grantOf("a1", { expiresAt: start + 590_000, lockDelayMs: 60_000 })],
      }),
      after: 600_000,
      verdict: "keep",
    },
  ];
  test.each(rows)("on $title is $verdict [L123] [LS109]", ({ record, after, verdict }) => {
    expect(sweepVerdict(record, start + after, retention, 0)).toBe(verdict);
  });
});

describe("the sweep", () => {
  test("deletes idle records and raises the floor to their counters [L63] [LS105] [I3]", () => {
    const world = new World().withLock({ counter: 40 }).withLock({ counter: 7 }, "b");
    world.withLock({ counter: 50, touchedAt: start + 600_000 }, "c");
    world.now += 600_000;
    expect(sweep(world, "a", "b", "c", "d").deleted).toEqual(["a", "b"]);
    expect(world.keys("lock")).toEqual(["lock/ns/c"]);
    expect(world.get(["floor", "ns"])).toEqual({ v: 1, floor: 40 });
    expect(world.try("A", "a1")).toMatchObject({ grant: { token: 41 } });
    expect(world.try("A", "n1", { name: "new" })).toMatchObject({ grant: { token: 41 } });
  });

  test("counts and audits what it reclaims [L123] [LS154] [I29]", () => {
    const forced = { by: actor, reason: "r" };
    const barred = grantOf("x", { expiresAt: start, forced });
    const lapsed = grantOf("a1", { token: 2 });
    const world = new World().withLock({ grants: [barred, lapsed] });
    world.now += 630_000;
    expect(sweep(world, "a").reclaimed).toMatchObject([{ token: 2, owner: "A", kind: "lease" }]);
    expect(world.audits()).toEqual(["2:reclaimed"]);
    world.settings = { audit: "off" };
    world.withLock({ grants: [lapsed] }, "b");
    world.now += 630_000;
    sweep(world, "b");
    expect(world.keys("audit").filter((key) => key.includes("/b/"))).toEqual([]);
  });

  test("writes the floor anew though its value stays, and so defeats [L63] [LS161] [I24]", () => {
    const world = new World();
    world.put(["floor", "ns"], { v: 1, floor: 7 });
    const sent = world.prepare((snapshot) => decideAcquire(snapshot, acquireOf("A", "a1")));
    world.cancel("A", "a1");
    world.now += 600_000;
    expect(sweep(world, "a").deleted).toEqual(["a"]);
    expect(world.get(["floor", "ns"])).toEqual({ v: 1, floor: 7 });
    expect(world.commit(sent)).toBe(false);
    expect(world.keys("lock")).toEqual([]);
  });

  test("with nothing to delete writes nothing [L123]", () => {
    const world = new World().withLock({ counter: 1 });
    expect(sweep(world, "a", "absent")).toEqual({ deleted: [], reclaimed: [] });
    expect(world.written).toEqual([]);
  });

  test("advances a left-over queue: dead tickets go, live ones are granted [L123]", () => {
    const world = new World().withLock({
      queue: [ticketOf("b1", 1), ticketOf("c1", 2, { presence: "C", giveUpAt: null })],
    });
    world.withPresence("C", start + 700_000);
    world.now += 650_000;
    world.put(["presence", "ns", "C"], { v: 1, actor, aliveUntil: world.now + 9, spanMs: 15_000 });
    world.apply((snapshot) => decideAdvance(snapshot, { scope: world.scope("S"), name: "a" }));
    expect(world.grants()).toBe("c1:1:pending");
    expect(world.queue()).toBe("");
  });

  test("is taken in turn: once a period, and again after a clock that stepped back [L123]", () => {
    const world = new World();
    const turn = (): boolean =>
      world.apply((snapshot) =>
        decideSweepTurn(snapshot, { scope: world.scope("S"), periodMs: 60_000 }),
      );
    expect([turn(), turn()]).toEqual([true, false]);
    world.now += 59_999;
    expect(turn()).toBe(false);
    world.now += 1;
    expect(turn()).toBe(true);
    world.now -= 3_600_000;
    expect(turn()).toBe(true);
  });

  test("forgets presences long dead and audit entries past their retention [L123] [I33]", () => {
    const world = new World();
    world.now = start + 2 * retention.auditMs;
    const since = world.now - retention.freeMs;
    world.withPresence("A", since).withPresence("B", since + 1);
    const old = ["audit", "ns", "lock", "a", "1", "lost"];
    const young = ["audit", "ns", "lock", "a", "2", "lost"];
    world.put(old, { v: 1, at: world.now - retention.auditMs, token: 1 });
    world.put(young, { v: 1, at: world.now - retention.auditMs + 1, token: 2 });
    const presences = ["A", "B", "gone"].map((id) => ["presence", "ns", id]);
    const command = { keys: [old, young, ...presences], retention };
    expect(world.apply((snapshot) => decideForget(snapshot, command))).toBe(2);
    expect(world.keys("presence")).toEqual(["presence/ns/B"]);
    expect(world.keys("audit")).toEqual(["audit/ns/lock/a/2/lost"]);
  });
});

describe("raising the floor", () => {
  test("never lowers it, writes it anew, and then raises every counter [L65] [LS108]", () => {
    const world = new World().withLock({ counter: 3 });
    const raise = (to: number): number =>
      world.apply((snapshot) => decideRaiseFloor(snapshot, { scope: world.scope("S"), to }));
    const raiseCounter = (to: number, name: string): number =>
      world.apply((snapshot) => decideRaiseCounter(snapshot, { scope: world.scope("S"), to, name }))
        .result;
    expect(raise(900)).toBe(900);
    expect(raise(800)).toBe(900);
    expect(world.written).toEqual(["floor/ns"]);
    expect(raiseCounter(900, "a")).toBe(900);
    expect(world.audits()).toEqual(["900:raised"]);
    expect(raiseCounter(800, "a")).toBe(900);
    expect(world.written).toEqual([]);
    expect(raiseCounter(900, "absent")).toBe(900);
    expect(world.keys("lock")).toEqual(["lock/ns/a"]);
    expect(world.try("A", "a1")).toMatchObject({ grant: { token: 901 } });
  });

  test("withdraws what is over and grants the next in the same commit [L20] [L24]", () => {
    const pending = { state: "pending", spanMs: 5_000, expiresAt: start + 5_000 } as const;
    const world = new World().withLock({
      grants: [grantOf("b1", pending)],
      queue: [ticketOf("c1", 1, { presence: "C" })],
    });
    world.withPresence("C");
    world.now += 5_000;
    world.apply((snapshot) =>
      decideRaiseCounter(snapshot, { scope: world.scope("S"), to: 9, name: "a" }),
    );
    expect(world.grants()).toBe("c1:10:pending");
  });
});

describe("stored pages", () => {
  test("that cannot be read fail the decision that needs them [L118]", () => {
    const world = new World().withLock({ pages: { first: 1, last: 1, depth: 1, exclusive: 1 } });
    world.put(queueKey("ns", "a", 1), { v: 1, tickets: "none" });
    const corrupt = expect.objectContaining({ code: "RECORD_CORRUPT" });
    expect(() => world.acquire("A", "a1")).toThrow(corrupt);
  });

  test("presences and floors that cannot be read fail theirs [L118]", () => {
    const corrupt = expect.objectContaining({ code: "RECORD_CORRUPT" });
    const world = new World();
    world.put(["floor", "ns"], { v: 1, floor: -1 });
    expect(() => world.acquire("A", "a1")).toThrow(corrupt);
    const other = new World().withLock({ queue: [ticketOf("b1", 1)] });
    other.put(["presence", "ns", "B"], { v: 1, aliveUntil: "x", spanMs: 1 });
    expect(() => other.acquire("A", "a1")).toThrow(corrupt);
  });
});
