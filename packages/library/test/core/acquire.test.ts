import { describe, expect, test } from "vitest";
import { LeaseholdError } from "../../src/errors.ts";
import { grantOf, start, ticketOf, World } from "./world.ts";
import { recordTicketsMin, tokenMax } from "../../src/core/lock/record.ts";
import type { Json } from "../../src/core/scalars.ts";

describe("acquire on a free lock", () => {
  test("is granted token 1 in one commit, with its end one lease ahead [L8] [L12] [L61]", () => {
    const world = new World();
    const result = world.acquire("A", "a1");
    expect(result).toMatchObject({
      kind: "granted",
      grant: { id: "a1", token: 1, expiresAt: start + 30_000, leaseMs: 30_000, owner: "A" },
    });
    expect(world.commits).toBe(1);
    expect(world.reads).toEqual(["lock/ns/a", "floor/ns"]);
    expect(world.written).toEqual(["lock/ns/a"]);
  });

  test("reads only the lock once its record exists [L8] [L132]", () => {
    const world = new World().withLock({ counter: 4 });
    expect(world.acquire("A", "a1")).toMatchObject({ grant: { token: 5 } });
    expect(world.reads).toEqual(["lock/ns/a"]);
  });

  test("starts above the floor of its namespace [L61] [L63] [LS105]", () => {
    const world = new World();
    world.put(["floor", "ns"], { v: 1, floor: 40 });
    expect(world.try("A", "a1")).toMatchObject({ kind: "granted", grant: { token: 41 } });
  });

  test("stores note and value, and keeps them out when they were not given", () => {
    const world = new World();
    world.acquire("A", "a1", { note: "why", value: { port: 1 } });
    expect(world.lock().grants[0]).toMatchObject({ note: "why", value: { port: 1 } });
    world.release("A", "a1");
    world.acquire("A", "a2");
    expect(world.lock().grants[0]).not.toHaveProperty("note");
  });

  test("with the counter at its end fails and changes nothing [L62] [LS8]", () => {
    const world = new World().withLock({ counter: tokenMax });
    const before = world.text();
    expect(() => world.acquire("A", "a1")).toThrow(LeaseholdError);
    expect(world.text()).toBe(before);
  });
});

describe("acquire on a held lock", () => {
  test("queues, and writes the presence it needs [L17] [L21]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    expect(world.acquire("B", "b1")).toMatchObject({
      kind: "queued",
      number: 1,
      denial: { reason: "held", position: 0, depth: 1, until: start + 30_000 },
      expectedEnd: start + 30_000,
    });
    expect(world.written.toSorted()).toEqual(["lock/ns/a", "presence/ns/B"]);
    expect(world.validUntil).toBe(start + 30_000);
    expect(world.lock().queue[0]).toMatchObject({ giveUpAt: start + 35_000, enqueuedAt: start });
  });

  test("leaves a fresh presence as it is, and renews one more than half used [L21]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] }).withPresence("B");
    world.now += 7_000;
    world.acquire("B", "b1");
    expect(world.written).toEqual(["lock/ns/a"]);
    world.now += 1_000;
    world.acquire("B", "b2");
    expect(world.get(["presence", "ns", "B"])).toMatchObject({ aliveUntil: world.now + 15_000 });
  });

  test("writes a presence anew whose end is further away than its span [L55]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.withPresence("B", start + 3_600_000);
    world.acquire("B", "b1");
    expect(world.get(["presence", "ns", "B"])).toMatchObject({ aliveUntil: start + 15_000 });
  });

  test("without limit stores no instant at which it gives up [L5]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.acquire("B", "b1", { waitMs: null });
    expect(world.lock().queue[0]?.giveUpAt).toBeNull();
    world.acquire("B", "b2", { waitMs: tokenMax });
    expect(world.lock().queue[1]?.giveUpAt).toBeNull();
  });

  test("with wait 0 is refused with the denial and leaves no ticket [L10] [L11] [LS4]", () => {
    const world = new World().withLock({ grants: [grantOf("a1", { note: "n" })] });
    const before = world.text();
    expect(world.try("B", "b1")).toMatchObject({
      kind: "refused",
      denial: {
        name: "a",
        reason: "held",
        holders: [{ owner: "A", token: 1, state: "held", note: "n", since: start }],
        until: start + 30_000,
        position: null,
        depth: 0,
        now: start,
      },
    });
    expect(world.text()).toBe(before);
  });

  test("names no lease id in a denial [L66] [LS156]", () => {
    const world = new World().withLock({ grants: [grantOf("secret-1")] });
    expect(JSON.stringify(world.acquire("B", "b1"))).not.toContain("secret-1");
  });
});

describe("acquire on a lapsed lock", () => {
  const rows = [
    { title: "one ms before the end", at: 29_999, delay: 0, kind: "refused" },
    { title: "exactly at the end", at: 30_000, delay: 0, kind: "granted" },
    { title: "inside the lock-delay", at: 31_999, delay: 2_000, kind: "refused" },
    { title: "at the end of the lock-delay", at: 32_000, delay: 2_000, kind: "granted" },
  ] as const;
  test.each(rows)("$title [L14] [L53] [L57] [LS6] [LS93] [I5] [I8]", ({ at, delay, kind }) => {
    const world = new World().withLock({ grants: [grantOf("a1", { lockDelayMs: delay })] });
    world.now = start + at;
    expect(world.try("B", "b1").kind).toBe(kind);
    if (kind === "granted") {
      expect(world.grants()).toBe("b1:2:held");
      expect(world.effects?.reclaimed).toEqual([
        { name: "a", token: 1, owner: "A", kind: "lease" },
      ]);
      expect(world.audits()).toEqual(["1:reclaimed"]);
    }
  });

  test("counts the clock error towards others [L53] [I9]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.settings = { clockErrorMs: 10 };
    world.now = start + 30_009;
    expect(world.try("B", "b1").kind).toBe("refused");
    world.now += 1;
    expect(world.try("B", "b1").kind).toBe("granted");
  });

  test("tells delayed from held [L57]", () => {
    const world = new World().withLock({ grants: [grantOf("a1", { lockDelayMs: 2_000 })] });
    world.now = start + 30_000;
    expect(world.try("B", "b1")).toMatchObject({
      denial: { reason: "delayed", holders: [{ state: "delayed" }], until: start + 32_000 },
    });
  });

  test("grants the waiter first, so a try gets nothing [L10] [L18] [LS23] [I12]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    world.withPresence("B", start + 40_000);
    world.now = start + 30_000;
    expect(world.try("C", "c1").kind).toBe("refused");
    expect(world.grants()).toBe("b1:2:pending");
    expect(world.hints).toEqual(["presence/ns/B"]);
  });

  test("reclaims every lapsed shared grant once and leaves the live one [L14] [LS114]", () => {
    const world = new World().withLock({
      grants: [
        grantOf("a1", { mode: "shared" }),
        grantOf("b1", { token: 2, mode: "shared", expiresAt: start + 20_000, spanMs: 20_000 }),
      ],
    });
    world.now = start + 25_000;
    world.try("C", "c1", { mode: "shared" });
    expect(world.grants()).toBe("a1:1:held c1:3:held");
    expect(world.effects?.reclaimed).toHaveLength(1);
  });

  test("treats a grant without end as over [L118] [LS20]", () => {
    const { expiresAt: _end, spanMs: _span, ...endless } = grantOf("a1");
    const world = new World();
    const record = { v: 1, counter: 1, nextTicket: 1, grants: [endless], queue: [], ended: [] };
    world.put(["lock", "ns", "a"], { ...record, touchedAt: start } as unknown as Json);
    expect(world.try("B", "b1")).toMatchObject({ kind: "granted", grant: { token: 2 } });
    expect(world.grants()).toBe("b1:2:held");
  });
});

describe("modes", () => {
  test("eight shared requests hold together with eight tokens [L73] [LS110] [I4]", () => {
    const world = new World();
    const tokens = Array.from({ length: 8 }, (_, index) => {
      const result = world.try(`P${index}`, `s${index}`, { mode: "shared" });
      return result.kind === "granted" ? result.grant.token : 0;
    });
    expect(tokens).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(world.try("X", "x1").kind).toBe("refused");
  });

  test("a shared request does not pass a waiting exclusive one [L18] [LS112] [I11]", () => {
    const world = new World();
    world.try("A", "s1", { mode: "shared" });
    world.acquire("B", "x1");
    expect(world.try("C", "s2", { mode: "shared" })).toMatchObject({
      kind: "refused",
      denial: { reason: "queued", position: null, depth: 1 },
    });
    expect(world.acquire("C", "s3", { mode: "shared" })).toMatchObject({
      kind: "queued",
      denial: { position: 1 },
    });
  });

  test("a shared request does not pass an exclusive ticket in a page [L126] [L18]", () => {
    const queue = Array.from({ length: recordTicketsMin }, (_, index) =>
      ticketOf(`s${index}`, index + 1, { mode: "shared" }),
    );
    const world = new World().withLock({
      grants: [grantOf("x", { mode: "shared" })],
      queue,
      pages: { first: 9, last: 9, depth: 3, exclusive: 1 },
      nextTicket: 700,
    });
    world.settings = { wideningMax: 0, holdersMax: 1 };
    expect(world.try("C", "c1", { mode: "shared" })).toMatchObject({
      denial: { reason: "queued" },
    });
  });

  test("claims are granted as claims [L88]", () => {
    const world = new World();
    world.settings = { audit: "all" };
    expect(world.try("A", "k1", { kind: "claim" })).toMatchObject({ grant: { kind: "claim" } });
    expect(world.audits()).toEqual(["1:claimed"]);
    expect(world.try("A", "k2", { kind: "claim" }).kind).toBe("refused");
  });
});

describe("limits", () => {
  test("a full queue refuses before any ticket is written [L34] [LS33]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.settings = { queueMax: 2 };
    world.acquire("B", "b1");
    world.acquire("C", "c1");
    expect(world.acquire("D", "d1")).toEqual({ kind: "full", name: "a", depth: 2, limit: 2 });
    expect(world.queue()).toBe("b1 c1");
  });

  test("dead tickets make room in a full queue, wherever they stand [L34] [LS33]", () => {
    const world = new World().withLock({ grants: [grantOf("a1", { spanMs: 60_000 })] });
    world.settings = { queueMax: 3, presenceMs: 5_000 };
    world.acquire("B", "b1");
    world.acquire("C", "c1");
    world.acquire("D", "d1", { waitMs: 1_000 });
    world.now += 5_000;
    world.withPresence("B", world.now + 5_000);
    expect(world.acquire("E", "e1")).toMatchObject({ kind: "queued", denial: { position: 1 } });
    expect(world.queue()).toBe("b1 e1");
  });

  test("a full queue looks at further presences in a later commit [L34] [L131]", () => {
    const world = new World().withLock({ grants: [grantOf("a1", { mode: "exclusive" })] });
    world.settings = { queueMax: 4, wideningMax: 2 };
    for (const id of ["B", "C", "D", "E"]) world.acquire(id, `${id}1`);
    world.put(["presence", "ns", "E"], null);
    world.acquire("F", "f1");
    expect(world.queue()).toBe("B1 C1 D1 E1");
    world.put(["presence", "ns", "B"], null);
    world.acquire("F", "f1");
    expect(world.queue()).toBe("C1 D1 E1 f1");
  });

  test("one grant too many waits marked limited, and nobody passes it [L134] [LS177]", () => {
    const world = new World();
    world.settings = { holdersMax: 2 };
    const shared = { mode: "shared" } as const;
    world.try("A", "a1", shared);
    world.try("B", "b1", shared);
    expect(world.try("C", "c0", shared)).toMatchObject({ denial: { reason: "limit" } });
    expect(world.acquire("C", "c1", shared)).toMatchObject({ denial: { reason: "limit" } });
    expect(world.acquire("D", "d1", shared)).toMatchObject({ kind: "queued" });
    expect(world.lock().queue[0]?.limited).toBe(true);
    world.release("A", "a1");
    expect(world.grants()).toBe("b1:2:held c1:3:pending");
    world.release("B", "b1");
    expect(world.grants()).toBe("c1:3:pending d1:4:pending");
  });

  test("names at most sixteen holders", () => {
    const world = new World();
    for (let i = 0; i < 20; i += 1) world.try("A", `s${i}`, { mode: "shared" });
    const result = world.try("B", "b1");
    expect(result.kind === "refused" && result.denial.holders.length).toBe(16);
  });
});

function readable(): Record<string, unknown> {
  return { v: 1, counter: 1, nextTicket: 1, grants: [], queue: [], ended: [], touchedAt: 0 };
}

describe("unreadable records", () => {
  const rows = [
    { title: "no object", value: "text" },
    { title: "version 9", value: { ...readable(), v: 9 } },
    { title: "no counter", value: { ...readable(), counter: null } },
    { title: "a counter that is no safe integer", value: { ...readable(), counter: 1.5 } },
    { title: "no queue", value: { ...readable(), queue: null } },
    { title: "no next ticket", value: { ...readable(), nextTicket: 0 } },
  ];
  test.each(rows)("with $title fail every decision on them [L118] [LS20]", ({ value }) => {
    const world = new World();
    world.put(["lock", "ns", "a"], value);
    const corrupt = expect.objectContaining({ code: "RECORD_CORRUPT" });
    expect(() => world.acquire("A", "a1")).toThrow(corrupt);
    expect(() => world.renew("A", "a1")).toThrow(corrupt);
    expect(() => world.release("A", "a1")).toThrow(corrupt);
  });
});
