import { describe, expect, test } from "vitest";
import { decideRelease } from "../../src/core/lock/release.ts";
import { decideRenew } from "../../src/core/lock/renew.ts";
import { grantOf, start, ticketOf, World } from "./world.ts";

describe("a renewal", () => {
  const rows = [
    { title: "keep moves the end", how: "keep", lengthMs: null, end: 40_000, leaseMs: 30_000 },
    { title: "set to more", how: "set", lengthMs: 60_000, end: 70_000, leaseMs: 60_000 },
    { title: "set to less", how: "set", lengthMs: 2_000, end: 12_000, leaseMs: 2_000 },
    { title: "extend by less", how: "extend", lengthMs: 5_000, end: 30_000, leaseMs: 30_000 },
    { title: "extend by more", how: "extend", lengthMs: 60_000, end: 70_000, leaseMs: 30_000 },
    {
      title: "set to the present length",
      how: "set",
      lengthMs: null,
      end: 40_000,
      leaseMs: 30_000,
    },
  ] as const;
  test.each(rows)("$title [L38] [LS52] [LS53] [I31]", ({ how, lengthMs, end, leaseMs }) => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.now += 10_000;
    expect(world.renew("A", "a1", { how, lengthMs })).toEqual({
      kind: "renewed",
      expiresAt: start + end,
      leaseMs,
    });
    expect(world.lock().grants[0]).toMatchObject({ expiresAt: start + end, leaseMs, change: 1 });
    expect(world.validUntil).toBe(start + 30_000);
  });

  test("writes an end that stays, so that one under way is refused [L42] [L128] [LS163]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    const shortening = world.prepare((snapshot) =>
      decideRenew(snapshot, {
        scope: world.scope("A"),
        name: "a",
        id: "a1",
        token: 1,
        change: 1,
        how: "set",
        lengthMs: 2e3,
      }),
    );
    world.renew("A", "a1", { how: "extend", lengthMs: 10_000, change: 2 });
    expect(world.written).toEqual(["lock/ns/a"]);
    expect(world.commit(shortening)).toBe(false);
  });

  test("with a lower number than the stored one changes nothing [L129] [LS162] [I34]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.renew("A", "a1", { how: "set", lengthMs: 30_000, change: 2 });
    const before = world.text();
    expect(world.renew("A", "a1", { how: "set", lengthMs: 2_000, change: 1 })).toMatchObject({
      kind: "renewed",
      expiresAt: start + 30_000,
    });
    expect(world.text()).toBe(before);
  });

  test("one ms before the end holds, at the end is lost though untaken [L39] [L53] [LS55]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.now = start + 29_999;
    expect(world.renew("A", "a1").kind).toBe("renewed");
    world.now += 30_000;
    const before = world.text();
    expect(world.renew("A", "a1")).toEqual({ kind: "lost", how: "expired", isRewind: false });
    expect(world.text()).toBe(before);
  });

  test("that comes too late grants the waiter in its own commit [L39] [LS55] [I8]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    world.withPresence("B", start + 40_000);
    world.now = start + 30_000;
    expect(world.renew("A", "a1")).toMatchObject({ kind: "lost", how: "expired" });
    expect(world.grants()).toBe("b1:2:pending");
  });

  test("does not serve the queue while its own grant is live [L132]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    world.renew("A", "a1");
    expect(world.reads).toEqual(["lock/ns/a"]);
  });

  test("of an unknown id is lost, and the record stays byte for byte [L39] [LS54] [I7]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    const before = world.text();
    expect(world.renew("X", "guess")).toEqual({ kind: "lost", how: null, isRewind: false });
    expect(world.text()).toBe(before);
  });

  test("says how the grant had ended [L39] [L111] [LS57]", () => {
    const world = new World();
    world.acquire("A", "a1");
    world.release("A", "a1");
    expect(world.renew("A", "a1")).toEqual({ kind: "lost", how: "released", isRewind: false });
    world.acquire("B", "b1");
    world.force("X", { reason: "stuck" });
    expect(world.renew("B", "b1", { token: 2 })).toEqual({
      kind: "lost",
      how: "forced",
      reason: "stuck",
      by: {
        host: "h",
        pid: 1,
      },
      isRewind: false,
    });
  });

  test("of a barred grant is lost as forced, also when the list has forgotten it [L111]", () => {
    const world = new World();
    world.acquire("A", "a1", { lockDelayMs: 2_000 });
    world.force("X", { reason: "stuck" });
    for (let i = 0; i < 4; i += 1) world.cancel("A", `other${i}`);
    expect(world.renew("A", "a1")).toMatchObject({ kind: "lost", how: "forced", reason: "stuck" });
    expect(world.grants()).toBe("a1:1:barred");
  });

  test("that finds the counter below its token raises it [L64] [LS107]", () => {
    const world = new World().withLock({ counter: 2 });
    expect(world.renew("A", "a1", { token: 5 })).toEqual({
      kind: "lost",
      how: "missing",
      isRewind: true,
    });
    expect(world.lock().counter).toBe(5);
    expect(world.audits()).toEqual(["5:raised"]);
  });

  test("that finds no record raises the counter above a lower floor only [L64] [LS107]", () => {
    const world = new World();
    expect(world.renew("A", "a1", { token: 5 })).toMatchObject({ isRewind: true });
    expect(world.try("B", "b1")).toMatchObject({ grant: { token: 6 } });
    const swept = new World();
    swept.put(["floor", "ns"], { v: 1, floor: 5 });
    expect(swept.renew("A", "a1", { token: 5 })).toEqual({
      kind: "lost",
      how: "missing",
      isRewind: false,
    });
    expect(swept.written).toEqual([]);
  });
});

describe("a release", () => {
  test("frees and grants the successor in the same commit [L20] [LS21] [LS24]", () => {
    const world = new World().withLock({
      grants: [grantOf("a1")],
      queue: [ticketOf("b1", 1), ticketOf("c1", 2, { presence: "C" })],
    });
    world.withPresence("B");
    expect(world.release("A", "a1")).toBe(true);
    expect(world.commits).toBe(1);
    expect(world.grants()).toBe("b1:2:pending");
    expect(world.queue()).toBe("c1");
    expect(world.ended()).toBe("a1:released");
    expect(world.audits()).toEqual([]);
  });

  test("grants a ticket of its own process held at once [L22] [LS49]", () => {
    const world = new World().withLock({
      grants: [grantOf("a1")],
      queue: [ticketOf("a2", 1, { presence: "A", leaseMs: 1_000 })],
    });
    expect(world.release("A", "a1")).toBe(true);
    expect(world.grants()).toBe("a2:2:held");
    expect(world.lock().grants[0]?.expiresAt).toBe(start + 1_000);
    expect(world.effects?.granted).toMatchObject([{ id: "a2" }]);
    expect(world.hints).toEqual([]);
  });

  test("twice gives true, then false without a write [L45] [LS56] [I29]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    expect(world.release("A", "a1")).toBe(true);
    const before = world.text();
    expect(world.release("A", "a1")).toBe(false);
    expect(world.release("A", "guess")).toBe(false);
    expect(world.text()).toBe(before);
  });

  test("repeated after an unknown outcome finds that it had freed the lock [L117] [LS59]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    const release = (id: string): boolean =>
      world.apply((snapshot) =>
        decideRelease(snapshot, {
          scope: world.scope("A"),
          name: "a",
          id,
          how: "released",
          isRepeat: true,
        }),
      ).result;
    expect(release("a1")).toBe(true);
    expect(release("a1")).toBe(true);
    world.acquire("A", "a2");
    world.force("X");
    expect(release("a2")).toBe(false);
  });

  test("of its own lapsed grant ends its lock-delay and gives false [L47] [LS58] [LS93]", () => {
    const world = new World().withLock({ grants: [grantOf("a1", { lockDelayMs: 2_000 })] });
    world.now += 30_000;
    expect(world.release("A", "a1")).toBe(false);
    expect(world.ended()).toBe("a1:reclaimed");
    expect(world.try("B", "b1").kind).toBe("granted");
  });

  test("with a lock-delay lets the next one in at once [L57] [LS93]", () => {
    const world = new World().withLock({ grants: [grantOf("a1", { lockDelayMs: 2_000 })] });
    world.release("A", "a1");
    expect(world.try("B", "b1").kind).toBe("granted");
  });

  test("of a stale id disturbs nobody [L45] [LS57] [I7]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.now += 30_000;
    world.try("B", "b1");
    expect(world.release("A", "a1")).toBe(false);
    expect(world.renew("A", "a1").kind).toBe("lost");
    expect(world.releaseClaim("A", "A")).toBe(false);
    expect(world.grants()).toBe("b1:2:held");
  });

  test("of what was lost ends it as lost, gives false, and is audited [L48] [LS64]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    expect(world.release("A", "a1", "lost")).toBe(false);
    expect(world.ended()).toBe("a1:lost");
    expect(world.audits()).toEqual(["1:lost"]);
  });

  test("of a barred grant is a no-op [L45] [L57]", () => {
    const world = new World();
    world.acquire("A", "a1", { lockDelayMs: 2_000 });
    world.force("X");
    expect(world.release("A", "a1")).toBe(false);
    expect(world.grants()).toBe("a1:1:barred");
  });

  test("withdraws what is over on the way [L24]", () => {
    const pending = { state: "pending", spanMs: 5_000, expiresAt: start + 5_000 } as const;
    const world = new World().withLock({ grants: [grantOf("b1", pending)] });
    world.now += 5_000;
    expect(world.release("X", "guess")).toBe(false);
    expect(world.ended()).toBe("b1:withdrawn");
  });

  test("with audit all stores what ended and what was granted in one record [L112]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    world.settings = { audit: "all" };
    world.withPresence("B");
    world.release("A", "a1");
    expect(world.audits()).toEqual(["1:released"]);
    expect(world.get(["audit", "ns", "lock", "a", "0000000000000001", "released"])).toMatchObject({
      name: "a",
      at: start,
      token: 1,
      owner: "A",
      heldMs: 0,
      also: [
        {
          token: 2,
          kind: "granted",
          owner: "B",
        },
      ],
    });
  });

  test("with audit off stores none [L112]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.settings = { audit: "off" };
    world.release("A", "a1", "lost");
    expect(world.audits()).toEqual([]);
  });
});

describe("a grant of shared tickets", () => {
  test("takes those at the head together, not the one behind an exclusive [L19] [LS113]", () => {
    const shared = { mode: "shared" } as const;
    const world = new World().withLock({
      grants: [grantOf("x0")],
      queue: [
        ticketOf("s1", 1, shared),
        ticketOf("s2", 2, shared),
        ticketOf("x3", 3),
        ticketOf("s4", 4, shared),
      ],
    });
    world.withPresence("B");
    world.release("A", "x0");
    expect(world.grants()).toBe("s1:2:pending s2:3:pending");
    expect(world.queue()).toBe("x3 s4");
  });

  test("an exclusive head waits for every shared holder [L73] [LS112]", () => {
    const world = new World().withLock({
      grants: [grantOf("s1", { mode: "shared" }), grantOf("s2", { mode: "shared", token: 2 })],
      queue: [ticketOf("x1", 1)],
    });
    world.withPresence("B");
    world.release("A", "s1");
    expect(world.queue()).toBe("x1");
    world.release("A", "s2");
    expect(world.grants()).toBe("x1:3:pending");
  });

  test("the counter at its end leaves the ticket where it is [L62]", () => {
    const world = new World().withLock({
      counter: Number.MAX_SAFE_INTEGER,
      grants: [grantOf("a1")],
      queue: [ticketOf("b1", 1)],
    });
    world.withPresence("B");
    expect(world.release("A", "a1")).toBe(true);
    expect(world.queue()).toBe("b1");
  });
});
