import { describe, expect, test } from "vitest";
import { grantOf, start, ticketOf, World } from "./world.ts";

function claimed(more: Parameters<typeof grantOf>[1] = {}): World {
  return new World().withLock({ grants: [grantOf("k1", { kind: "claim", owner: "o", ...more })] });
}

describe("resume", () => {
  test("gives a new id and a higher token, and supersedes the old id [L89] [LS131] [LS133]", () => {
    const world = claimed({ note: "n" });
    world.now += 1_000;
    expect(world.resume("B", "r1", "o")).toMatchObject({
      id: "r1",
      token: 2,
      kind: "resumed",
      leaseMs: 3e4,
      expiresAt: start + 31e3,
    });
    expect(world.grants()).toBe("r1:2:held");
    expect(world.lock().grants[0]).toMatchObject({ presence: "B", note: "n", owner: "o" });
    expect(world.ended()).toBe("k1:superseded");
    expect(world.renew("A", "k1")).toMatchObject({ kind: "lost", how: "superseded" });
    expect(world.release("A", "k1")).toBe(false);
    expect(world.resume("C", "r2", "o")).toMatchObject({ id: "r2", token: 3 });
    expect(world.grants()).toBe("r2:3:held");
  });

  test("uses the recorded length, not the caller's [L54] [L88] [LS136]", () => {
    const world = claimed({ leaseMs: 7_200_000, spanMs: 7_200_000, expiresAt: start + 7_200_000 });
    expect(world.resume("B", "r1", "o")).toMatchObject({ leaseMs: 7_200_000 });
    expect(world.renew("B", "r1", { token: 2 })).toMatchObject({ expiresAt: start + 7_200_000 });
  });

  test("after its end succeeds while nobody else took the lock [L90] [LS132] [LS109]", () => {
    const world = claimed();
    world.now += 3_600_000;
    expect(world.resume("B", "r1", "o")).toMatchObject({ token: 2 });
  });

  test("after another grant gives null [L90] [LS132] [I4] [I25]", () => {
    const world = claimed();
    world.now += 30_000;
    world.try("C", "c1");
    expect(world.resume("B", "r1", "o")).toBeNull();
    expect(world.grants()).toBe("c1:2:held");
  });

  test("after its end grants a live waiter instead [L90]", () => {
    const world = claimed();
    world.acquire("C", "c1");
    world.now += 30_000;
    world.withPresence("C", world.now + 1_000);
    expect(world.resume("B", "r1", "o")).toBeNull();
    expect(world.grants()).toBe("c1:2:pending");
  });

  test("inside the lock-delay after its end yields to a live waiter only [L57] [L90]", () => {
    const world = claimed({ lockDelayMs: 2_000 });
    world.acquire("C", "c1");
    world.now += 30_000;
    world.withPresence("C", world.now + 1_000);
    expect(world.resume("B", "r1", "o")).toBeNull();
    expect(world.grants()).toBe("k1:1:held");
    world.put(["presence", "ns", "C"], null);
    expect(world.resume("B", "r1", "o")).toMatchObject({ token: 2 });
    expect(world.queue()).toBe("");
  });

  test("of a lapsed claim is not judged while dead tickets are left over [L131] [I35]", () => {
    const queue = [1, 2, 3].map((n) => ticketOf(`d${n}`, n, { presence: `D${n}` }));
    const world = new World().withLock({
      grants: [grantOf("k1", { kind: "claim", owner: "o" })],
      queue,
    });
    world.settings = { wideningMax: 2 };
    world.now += 30_000;
    expect(world.resume("B", "r1", "o")).toBeNull();
    expect(world.more).toBe(true);
    expect(world.resume("B", "r1", "o")).toMatchObject({ token: 2 });
  });

  test("of a live claim does not read the queue [L132]", () => {
    const world = claimed();
    world.acquire("C", "c1");
    expect(world.resume("B", "r1", "o")).toMatchObject({ token: 2 });
    expect(world.reads.filter((key) => !key.startsWith("audit/"))).toEqual(["lock/ns/a"]);
    expect(world.validUntil).toBe(start + 30_000);
  });

  test("if unresumed gives null while a resumed lease is live, and not after [L91] [LS137]", () => {
    const world = claimed();
    expect(world.resume("B", "r1", "o", true)).toMatchObject({ token: 2 });
    expect(world.resume("C", "r2", "o", true)).toBeNull();
    world.now += 30_000;
    expect(world.resume("C", "r2", "o", true)).toMatchObject({ token: 3 });
  });

  test("never acts on leases made by acquire, nor on other owners [L92] [LS137]", () => {
    const world = new World().withLock({ grants: [grantOf("a1", { owner: "x" })] });
    expect(world.resume("B", "r1", "x")).toBeNull();
    expect(claimed().resume("B", "r1", "other")).toBeNull();
    expect(new World().resume("B", "r1", "x")).toBeNull();
  });

  test("repeated under its attempt id finds its lease and mints nothing [L15] [I23]", () => {
    const world = claimed();
    world.resume("B", "r1", "o");
    world.now += 10_000;
    expect(world.resume("B", "r1", "o")).toMatchObject({ token: 2, expiresAt: start + 40_000 });
  });

  test("repeated after its own end gives null and lets the next one in [L15] [L16]", () => {
    const world = claimed();
    world.resume("B", "r1", "o");
    world.acquire("C", "c1", { waitMs: 60_000 });
    world.now += 30_000;
    world.withPresence("C", world.now + 1_000);
    expect(world.resume("B", "r1", "o")).toBeNull();
    expect(world.grants()).toBe("c1:3:pending");
    expect(world.resume("B", "r1", "o")).toBeNull();
  });

  test("under an ended attempt gives null, though its advance forgets the entry [L16] [I6]", () => {
    const ended = ["r1", "x1", "x2", "x3"].map((id) => ({
      id,
      token: 0,
      how: "superseded" as const,
      at: start,
    }));
    const shared = { mode: "shared", state: "pending", spanMs: 5_000 } as const;
    const world = new World().withLock({
      grants: [
        grantOf("k1", { kind: "claim", owner: "o", mode: "shared" }),
        grantOf("p1", { token: 2, ...shared, expiresAt: start + 5_000 }),
      ],
      ended,
    });
    world.now += 5_000;
    expect(world.resume("B", "r1", "o")).toBeNull();
    expect(world.ended()).toContain("p1:withdrawn");
  });

  test("does not take a pending claim of its owner [L22]", () => {
    const world = claimed({ state: "pending", spanMs: 5_000, expiresAt: start + 5_000 });
    expect(world.resume("B", "r1", "o")).toBeNull();
  });

  test("does not take a forced claim [L110] [L55]", () => {
    const world = claimed({ lockDelayMs: 2_000 });
    world.force("X");
    expect(world.resume("B", "r1", "o")).toBeNull();
  });
});

describe("releaseClaim", () => {
  test("frees the unresumed claim of its owner once [L94]", () => {
    const world = claimed();
    world.acquire("C", "c1");
    expect(world.releaseClaim("B", "other")).toBe(false);
    expect(world.releaseClaim("B", "o")).toBe(true);
    expect(world.releaseClaim("B", "o")).toBe(false);
    expect(world.grants()).toBe("c1:2:pending");
  });

  test("leaves a resumed lease alone [L94] [LS137] [I7]", () => {
    const world = claimed();
    world.resume("B", "r1", "o");
    expect(world.releaseClaim("B", "o")).toBe(false);
    expect(world.grants()).toBe("r1:2:held");
  });

  test("of a lapsed claim removes it and gives false [L94]", () => {
    const world = claimed();
    world.now += 30_000;
    expect(world.releaseClaim("B", "o")).toBe(false);
    expect(world.ended()).toBe("k1:reclaimed");
  });

  test("leaves a barred claim to its lock-delay [L57]", () => {
    const world = claimed({ lockDelayMs: 2_000 });
    world.force("X");
    expect(world.releaseClaim("B", "o")).toBe(false);
    expect(world.grants()).toBe("k1:1:barred");
  });
});
