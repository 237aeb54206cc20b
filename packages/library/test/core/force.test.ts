import { describe, expect, test } from "vitest";
import { grantOf, start, ticketOf, World } from "./world.ts";

describe("a forced release", () => {
  test("ends the holder, grants the successor and audits by whom and why [LS153] [L20]", () => {
    const world = new World().withLock({ grants: [grantOf("a1")], queue: [ticketOf("b1", 1)] });
    world.withPresence("B");
    expect(world.force("X", { reason: "stuck" })).toEqual([{ token: 1, owner: "A" }]);
    expect(world.commits).toBe(1);
    expect(world.grants()).toBe("b1:2:pending");
    expect(world.get(["audit", "ns", "lock", "a", "0000000000000001", "forced"])).toMatchObject({
      kind: "forced",
      by: {
        host: "h",
        pid: 1,
      },
      reason: "stuck",
      token: 1,
    });
  });

  test("with a token that is not current disturbs nothing [L110] [LS153]", () => {
    const world = new World().withLock({ counter: 5, grants: [grantOf("a1", { token: 5 })] });
    const before = world.text();
    expect(world.force("X", { token: 4 })).toEqual([]);
    expect(world.force("X", { token: 6 })).toEqual([]);
    expect(world.text()).toBe(before);
    expect(world.force("X", { token: 5 })).toEqual([{ token: 5, owner: "A" }]);
  });

  test("on a free lock and on an untouched name ends nothing [L110] [LS153]", () => {
    const world = new World();
    expect(world.force("X")).toEqual([]);
    expect(world.commits).toBe(0);
  });

  test("ends all shared holders, or the one with the token [L110]", () => {
    const shared = { mode: "shared" } as const;
    const grants = [grantOf("s1", shared), grantOf("s2", { ...shared, token: 2 })];
    const world = new World().withLock({ grants });
    world.force("X", { token: 1 });
    expect(world.grants()).toBe("s2:2:held");
    const all = new World().withLock({ grants });
    expect(all.force("X")).toHaveLength(2);
    expect(all.grants()).toBe("");
  });

  test("keeps newcomers out for its lock-delay, counted from now [L57] [LS93]", () => {
    const world = new World().withLock({ grants: [grantOf("a1", { lockDelayMs: 2_000 })] });
    world.now += 1_000;
    world.force("X");
    expect(world.grants()).toBe("a1:1:barred");
    world.now += 1_999;
    expect(world.try("B", "b1")).toMatchObject({ kind: "refused", denial: { reason: "delayed" } });
    world.now += 1;
    expect(world.try("B", "b1").kind).toBe("granted");
    expect(world.grants()).toBe("b1:2:held");
    expect(world.effects?.reclaimed).toEqual([]);
    expect(world.ended()).toBe("a1:forced");
  });

  test("without delay drops the barred entry, too [L57] [L110]", () => {
    const world = new World().withLock({ grants: [grantOf("a1", { lockDelayMs: 2_000 })] });
    expect(world.force("X")).toHaveLength(1);
    expect(world.force("X")).toEqual([]);
    expect(world.force("X", { isWithoutDelay: true })).toEqual([{ token: 1, owner: "A" }]);
    expect(world.try("B", "b1").kind).toBe("granted");
    expect(world.ended()).toBe("a1:forced");
  });

  test("of a pending grant runs no delay [L24] [L57]", () => {
    const pending = { state: "pending", spanMs: 5_000, expiresAt: start + 5_000 } as const;
    const grant = grantOf("b1", { lockDelayMs: 2_000, ...pending });
    const world = new World().withLock({ grants: [grant] });
    world.force("X");
    expect(world.grants()).toBe("");
  });

  test("keeps barred and live grants in token order", () => {
    const shared = { mode: "shared", lockDelayMs: 2_000 } as const;
    const world = new World().withLock({
      grants: [grantOf("s1", shared), grantOf("s2", { ...shared, token: 2 })],
    });
    world.force("X", { token: 1 });
    expect(world.grants()).toBe("s1:1:barred s2:2:held");
  });

  test("of a lapsed leftover ends it as forced", () => {
    const world = new World().withLock({ grants: [grantOf("a1")] });
    world.now += 40_000;
    expect(world.force("X", { token: 1 })).toHaveLength(1);
    expect(world.ended()).toBe("a1:forced");
  });
});
