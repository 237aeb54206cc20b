import { expect } from "vitest";

import { lockKey } from "../../src/core/lock/keys.ts";
import { decideRelease } from "../../src/core/lock/release.ts";
import { decideRenew } from "../../src/core/lock/renew.ts";
import { lockRecordsOf, strangerScope } from "./records.ts";
import { rejection } from "./settling.ts";
import { scenario, track, within, type Client } from "./world.ts";

scenario("LS52 a renewal sets the end to now and a length [L38]", async (world) => {
  const { space, told } = await world.client();
  const b = await world.client();
  const start = await world.now();
  const lease = await space.acquire("n", { renew: "manual" });
  await world.clock.advance(10_000);
  await lease.renew("30s");
  expect(lease).toMatchObject({ token: 1, expiresAt: start + 40_000, leaseMs: 30_000 });
  await world.clock.advance(20_001);
  lease.assertHeld();
  expect(told("lost")).toEqual([]);
  expect(told("renewed")).toEqual([{ name: "n", token: 1, expiresAt: start + 40_000 }]);
  expect(await b.space.tryAcquire("n")).toBeNull();
  expect((await world.record("n"))?.grants).toMatchObject([
    { token: 1, expiresAt: start + 40_000, spanMs: 30_000 },
  ]);
});

scenario("LS53 renewals never add up, and an extension never shortens [L38]", async (world) => {
  const { space } = await world.client();
  const lease = await space.acquire("n", { lease: "10s", renew: "manual" });
  const leftMs = async (): Promise<number> => {
    const stored = (await world.record("n"))?.grants[0]?.expiresAt;
    expect(stored).toBe(lease.expiresAt);
    return lease.expiresAt - (await world.now());
  };
  for (let round = 0; round < 5; round += 1) {
    await world.clock.advance(20);
    await lease.renew("10s");
    expect(await leftMs()).toBe(10_000);
  }
  await lease.renew("5s");
  expect(await leftMs()).toBe(5_000);
  await lease.extend("2s");
  expect(await leftMs()).toBe(5_000);
  await lease.extend("60s");
  expect(await leftMs()).toBe(60_000);
  // The length of later renewals is that of the last renewal; extensions do not change it.
  expect(lease.leaseMs).toBe(5_000);
  await lease.renew();
  expect(await leftMs()).toBe(5_000);
});

scenario("LS54 whoever knows only the token can do nothing [L39] [L45] [L66]", async (world) => {
  const a = await world.client();
  const x = await world.client();
  const former = await x.space.acquire("n");
  await a.space.forceRelease("n", { reason: "test" });
  const held = await a.space.acquire("n", { renew: "manual" });
  const stored = await world.record("n");
  const commits = x.engine.commits.length;
  const scope = strangerScope();
  const { token } = held;
  for (const id of [former.leaseId, String(token), held.fence, "", "AAAAAAAAAAAAAAAAAAAAAA"]) {
    for (const how of ["set", "extend", "keep"] as const) {
      const change = { change: 99, how, lengthMs: 60_000 };
      const renewed = await x.engine.transact(
        [lockKey("default", "n")],
        (snapshot) => decideRenew(snapshot, { scope, name: "n", id, token, ...change }),
        {},
      );
      expect(renewed.result.kind).toBe("lost");
    }
    const released = await x.engine.transact(
      [lockKey("default", "n")],
      (snapshot) => decideRelease(snapshot, { scope, name: "n", id, how: "released" }),
      {},
    );
    expect(released.result).toBe(false);
  }
  expect(await rejection(former.renew())).toMatchObject({ code: "LEASE_LOST", token: 1 });
  expect(await rejection(former.extend())).toMatchObject({ code: "LEASE_LOST", token: 1 });
  expect(await former.release()).toBe(false);
  expect(x.engine.commits.length).toBe(commits);
  expect(await world.record("n")).toEqual(stored);
  const shown = [
    await x.space.status("n"),
    await x.space.list(),
    await x.space.why("n"),
    await rejection(x.space.acquire("n", { wait: 0 })),
    held.toJSON(),
    a.events,
    x.events,
  ];
  expect(JSON.stringify(shown)).not.toContain(held.leaseId);
});

scenario("LS55 a renewal at exactly the end is too late [L18] [L39] [L53]", async (world) => {
  for (const isWaitedFor of [false, true]) {
    const a = await world.client();
    const b = await world.client();
    const name = `waited-${isWaitedFor}`;
    const start = await world.now();
    const lease = await a.space.acquire(name, { renew: "manual" });
    await world.clock.advance(300);
    const waits = isWaitedFor ? track(b.space.acquire(name, { wait: "1m" })) : undefined;
    // Sent while the holder may still hope, and decided at the very end.
    await world.clock.advance(28_600);
    a.engine.failNext({ kind: "delay", ms: 1_100 });
    const renewal = rejection(lease.renew());
    await world.clock.advance(1_100);
    expect(await world.now()).toBe(start + 30_000);
    expect(await renewal).toMatchObject({ code: "LEASE_LOST", reason: "expired", token: 1 });
    expect(a.told("lost")).toEqual([{ name, token: 1, reason: "expired" }]);
    const [grant] = (await world.record(name))?.grants ?? [];
    if (waits === undefined) {
      expect(grant).toMatchObject({ token: 1, expiresAt: start + 30_000 });
      continue;
    }
    expect(grant).toMatchObject({ token: 2, grantedAt: start + 30_000 });
    expect(lockRecordsOf(a, name).at(-1)?.grants).toMatchObject([{ token: 2, state: "pending" }]);
    await world.clock.advance(200);
    expect(waits.value().token).toBe(2);
  }
});

scenario("LS56 a second release is a no-op [L45]", async (world) => {
  const { space, engine, told } = await world.client();
  const lease = await space.acquire("n");
  expect(await lease.release()).toBe(true);
  const before = engine.calls;
  expect(await lease.release()).toBe(false);
  await lease[Symbol.asyncDispose]();
  expect(engine.calls).toBe(before);
  expect(told("released")).toEqual([{ name: "n", token: 1 }]);
  expect((await world.record("n"))?.ended).toMatchObject([{ token: 1, how: "released" }]);
  const both = await space.acquire("n");
  expect(await Promise.all([both.release(), both.release()])).toContain(true);
  expect(told("released")).toHaveLength(2);
});

scenario("LS57 a stale holder disturbs nobody [L45] [L94]", async (world) => {
  const a = await world.client();
  const b = await world.client();
  const c = await world.client();
  const stale = await a.space.acquire("n", { owner: "same", renew: "manual" });
  await world.clock.advance(30_000);
  const held = await b.space.acquire("n", { owner: "same", renew: "manual" });
  const grants = (await world.record("n"))?.grants;
  expect(grants).toMatchObject([{ token: 2 }]);
  expect(await stale.release()).toBe(false);
  expect(await stale.release()).toBe(false);
  expect(await rejection(stale.renew())).toMatchObject({ code: "LEASE_LOST", token: 1 });
  expect(await a.space.releaseClaim("n", "same")).toBe(false);
  expect((await world.record("n"))?.grants).toEqual(grants);
  held.assertHeld();
  expect(await c.space.tryAcquire("n")).toBeNull();
  expect(a.told("released")).toEqual([]);
});

scenario("LS58 a release after the end says so, or that nobody answers [L46]", async (world) => {
  const { space, engine } = await world.client();
  const lease = await space.acquire("n", { lease: 200, renew: "manual" });
  await world.clock.advance(500);
  expect(await lease.release()).toBe(false);
  expect(await lease.release()).toBe(false);
  expect(await world.record("n")).toMatchObject({
    grants: [],
    ended: [{ token: 1, how: "reclaimed" }],
  });
  const second = await space.acquire("n", { lease: 200, renew: "manual" });
  await world.clock.advance(500);
  engine.fault = () => ({ kind: "drop" });
  const release = rejection(within(world.clock, 5_000, second.release()));
  expect(await release).toMatchObject({ code: "ENGINE_UNAVAILABLE", retry: "later" });
  expect(second.state).not.toBe("held");
  engine.fault = () => ({ kind: "pass" });
  expect(await second.release()).toBe(false);
});

scenario("LS59 a release that failed is really tried again [L46] [L117]", async (world) => {
  const faults = [
    { kind: "fail", isApplied: false },
    { kind: "drop", isApplied: false },
    { kind: "unknown-lost", isApplied: false },
    { kind: "unknown-applied", isApplied: true },
  ] as const;
  for (const { kind, isApplied } of faults) {
    const a = await world.client({ callTimeout: "2s" });
    const b = await world.client();
    const lease = await a.space.acquire(kind, { lease: "5m" });
    const waits = track(b.space.acquire(kind, { wait: "5m" }));
    await world.clock.settle();
    a.engine.fault = () => ({ kind });
    const first = await rejection(within(world.clock, 2_100, lease.release()));
    expect(first).toMatchObject({
      code: "ENGINE_UNAVAILABLE",
      outcome: kind.startsWith("unknown") ? "unknown" : "none",
    });
    expect(lease.state).toBe("released");
    expect(await rejection(lease.renew())).toMatchObject({ code: "LEASE_LOST" });
    await world.clock.advance(500);
    expect(waits.state()).toBe(isApplied ? "resolved" : "waiting");
    a.engine.fault = () => ({ kind: "pass" });
    const calls = a.engine.calls;
    // What the first call has stored counts for the second, which finds it stored (6.6).
    expect(await lease.release()).toBe(true);
    expect(a.engine.calls).toBe(calls + 1);
    await world.clock.advance(200);
    expect(waits.value().token).toBe(2);
    const ended = (await world.record(kind))?.ended;
    expect(ended).toMatchObject([{ token: 1, how: "released" }]);
    expect(a.told("released")).toEqual([{ name: kind, token: 1 }]);
    expect(await lease.release()).toBe(false);
    expect(a.engine.calls).toBe(calls + 1);
  }
});

scenario("LS59 a release whose answer is lost once is told as a release [L117]", async (world) => {
  const { space, engine, told } = await world.client();
  const lease = await space.acquire("n");
  engine.failNext({ kind: "unknown-applied" });
  expect(await within(world.clock, 1_000, lease.release())).toBe(true);
  expect(told("released")).toEqual([{ name: "n", token: 1 }]);
  expect((await world.record("n"))?.ended).toHaveLength(1);
});

scenario("LS60 failed renewals inside the lease are harmless [L41]", async (world) => {
  for (const failingMs of [0, 4_000]) {
    const a: Client = await world.client();
    const b = await world.client();
    const name = `failing-${failingMs}`;
    const lease = await a.space.acquire(name, { lease: "10s" });
    const { signal } = lease;
    if (failingMs === 0) a.engine.failNext({ kind: "drop" });
    else a.engine.fault = () => ({ kind: "drop" });
    await world.clock.advance(2_000 + failingMs);
    a.engine.fault = () => ({ kind: "pass" });
    for (let passed = 0; passed < 20_000; passed += 500) {
      await world.clock.advance(500);
      lease.assertHeld();
      expect(await b.space.tryAcquire(name)).toBeNull();
    }
    expect(signal.aborted).toBe(false);
    expect(a.told("lost")).toEqual([]);
    expect(a.told("renewed").length).toBeGreaterThan(3);
    const failures = a.told("error").length;
    // One failure is one event; a pause of under a second between attempts is no hot loop (L41).
    expect(failures).toBeLessThanOrEqual(failingMs === 0 ? 1 : 12);
    await lease.release();
  }
});

scenario("LS61 a holder cut off knows before the next one [L41] [L48] [L56]", async (world) => {
  const faults = [{ kind: "drop" }, { kind: "fail" }, { kind: "hang" }, { kind: "delay", ms: 3e3 }];
  for (const [round, fault] of faults.entries()) {
    const a = await world.client();
    const b = await world.client();
    const name = `n${round}`;
    const lease = await a.space.acquire(name, { lease: "4s" });
    const lostAtMs: number[] = [];
    lease.signal.addEventListener("abort", () => lostAtMs.push(world.clock.monotonicMs()));
    const waits = b.space.acquire(name, { wait: "1m" });
    await world.clock.settle();
    // Delayed and lost for good: nothing that is sent from now on is stored in time.
    let isCut = true;
    a.engine.fault = () => (isCut ? (fault as { kind: "drop" }) : { kind: "drop" });
    const endMs = world.clock.monotonicMs() + 4_000;
    if (fault.kind === "delay") {
      await world.clock.advance(1_500);
      isCut = false;
    }
    const granted = await within(world.clock, 12_000, waits);
    const grantedAtMs = world.clock.monotonicMs();
    expect(granted.token).toBe(2);
    expect(lostAtMs).toHaveLength(1);
    expect(lostAtMs[0]).toBeLessThan(grantedAtMs);
    if (fault.kind !== "delay") expect(lostAtMs[0]).toBe(endMs - 402);
    expect(lease.signal.reason).toMatchObject({ code: "LEASE_LOST", reason: "expired" });
    expect(a.told("lost")).toEqual([{ name, token: 1, reason: "expired" }]);
    expect(() => lease.assertHeld()).toThrow("is over");
  }
});
