import { expect } from "vitest";

import { marginMs } from "../../src/lock/lease-state.ts";
import type { Lease } from "../../src/lock/lease-api.ts";
import type { Fault } from "./faulty-engine.ts";
import { rejection } from "./settling.ts";
import { scenario, track, within, type World } from "./world.ts";

scenario("LS62 after an outage a name is held as at first [L40] [L51]", async (world) => {
  const a = await world.client();
  const b = await world.client();
  const first = await a.space.acquire("n", { lease: "3s" });
  for (const { engine } of [a, b]) engine.fault = () => ({ kind: "drop" });
  await world.clock.advance(10_000);
  for (const { engine } of [a, b]) engine.fault = () => ({ kind: "pass" });
  expect(first.state).toBe("lost");
  expect(a.told("lost")).toEqual([{ name: "n", token: 1, reason: "expired" }]);
  const second = await a.space.acquire("n", { lease: "3s" });
  expect(second.token).toBe(2);
  for (let passed = 0; passed < 10_000; passed += 100) {
    await world.clock.advance(100);
    second.assertHeld();
    const end = (await world.record("n"))?.grants[0]?.expiresAt ?? 0;
    expect(end - (await world.now())).toBeGreaterThanOrEqual(1_500);
    expect(await b.space.tryAcquire("n")).toBeNull();
  }
  expect(a.told("lost")).toHaveLength(1);
});

scenario("LS64 a late answer to a renewal revives nothing [L48]", async (world) => {
  for (const isDisposed of [true, false]) {
    const a = await world.client();
    const b = await world.client();
    const name = `disposed-${isDisposed}`;
    const lease = await a.space.acquire(name, { lease: "3s" });
    const { signal } = lease;
    const waits = track(b.space.acquire(name, { wait: "1m" }));
    await world.clock.settle();
    a.engine.fault = () => ({ kind: "late-answer", ms: 3_000 });
    await world.clock.advance(2_697);
    const end = (await world.record(name))?.grants[0]?.expiresAt as number;
    // The renewal is stored, and the holder does not know: its own deadline counts.
    expect(end - (await world.now())).toBeGreaterThan(303);
    expect(lease.state).toBe("held");
    await world.clock.advance(2);
    expect(lease.state).toBe("lost");
    expect(signal.reason).toMatchObject({ code: "LEASE_LOST", reason: "expired" });
    await world.clock.advance(200);
    expect(waits.state()).toBe("waiting");
    a.engine.fault = () => ({ kind: "pass" });
    if (isDisposed) {
      await lease[Symbol.asyncDispose]();
      expect((await world.record(name))?.ended).toMatchObject([{ token: 1, how: "lost" }]);
      await world.clock.advance(200);
      expect(waits.value().token).toBe(2);
      expect(waits.value().grantedAt).toBeLessThan(end);
    } else {
      await world.clock.advance(end - 1 - (await world.now()));
      expect(waits.state()).toBe("waiting");
      await world.clock.advance(1_000);
      expect(waits.value().token).toBe(2);
      expect(waits.value().grantedAt).toBeGreaterThanOrEqual(end);
    }
    // The answer comes in at last.
    await world.clock.advance(5_000);
    expect(lease.state).toBe("lost");
    expect(() => lease.assertHeld()).toThrow("is over");
    expect(await rejection(lease.renew())).toMatchObject({ code: "LEASE_LOST" });
    expect(a.told("lost")).toHaveLength(1);
    expect(a.told("released")).toEqual([]);
    expect(await lease.release()).toBe(false);
  }
});

/** What happens to the first renewal and to the second, and to repeats of either. */
const faultPairs: readonly (readonly [Fault, Fault])[] = [
  [{ kind: "late-answer", ms: 900 }, { kind: "pass" }],
  [{ kind: "pass" }, { kind: "late-answer", ms: 900 }],
  [{ kind: "delay", ms: 700 }, { kind: "unknown-applied" }],
  [{ kind: "unknown-applied" }, { kind: "unknown-lost" }],
  [{ kind: "unknown-lost" }, { kind: "unknown-applied" }],
  [{ kind: "late-unknown", ms: 600 }, { kind: "pass" }],
  [
    { kind: "late-unknown", ms: 600 },
    { kind: "late-unknown", ms: 300 },
  ],
  [{ kind: "drop" }, { kind: "late-unknown", ms: 1_500 }],
  [{ kind: "unknown-applied" }, { kind: "drop" }],
];

const lengthPairs = [
  ["30s", "2s"],
  ["2s", "30s"],
] as const;

/** Both orders of the two lengths, and the second fault once or until further notice. */
const renewalRounds = faultPairs.flatMap((faults) =>
  lengthPairs.flatMap((lengths) => [false, true].map((lasts) => ({ faults, lengths, lasts }))),
);

async function expectDeadlineInside(world: World, lease: Lease): Promise<void> {
  const grant = (await world.record(lease.name))?.grants[0];
  if (lease.state !== "held") return;
  const { expiresAt, spanMs } = grant as { expiresAt: number; spanMs: number };
  const mostMs = expiresAt - (await world.now()) - marginMs(spanMs, 0);
  // Engine time is in whole milliseconds, so the comparison is, too.
  expect(Math.floor(lease.remainingMs())).toBeLessThanOrEqual(mostMs);
}

scenario("LS65 the local deadline never passes the stored end [L42] [L129]", async (world) => {
  for (const [round, { faults, lengths, lasts }] of renewalRounds.entries()) {
    const a = await world.client({ callTimeout: "3s" });
    const lease = await a.space.acquire(`n${round}`, { renew: "manual" });
    await world.clock.advance(100);
    let sent = 0;
    a.engine.fault = () => {
      sent += 1;
      if (sent === 1) return faults[0];
      return sent === 2 || lasts ? faults[1] : { kind: "pass" };
    };
    const calls = lengths.map((length) => lease.renew(length).catch(() => null));
    for (let passed = 0; passed < 4_000; passed += 40) {
      await world.clock.advance(40);
      await expectDeadlineInside(world, lease);
    }
    a.engine.fault = () => ({ kind: "pass" });
    await within(world.clock, 6_000, Promise.all(calls));
    await lease.release();
  }
});

scenario("LS67 after maxHold a lease is not renewed any more [L44]", async (world) => {
  const a = await world.client();
  const b = await world.client();
  const startMs = world.clock.monotonicMs();
  const lease = await a.space.acquire("n", { lease: "1s", maxHold: "5s" });
  let lostAfterMs = 0;
  lease.signal.addEventListener("abort", () => {
    lostAfterMs = world.clock.monotonicMs() - startMs;
  });
  await world.clock.advance(4_999);
  lease.assertHeld();
  expect(await b.space.tryAcquire("n")).toBeNull();
  await world.clock.advance(1_001);
  expect(lease.state).toBe("lost");
  expect(lostAfterMs).toBeGreaterThanOrEqual(5_000);
  expect(lostAfterMs).toBeLessThanOrEqual(6_000);
  expect(a.told("lost")).toEqual([{ name: "n", token: 1, reason: "max-hold" }]);
  expect(() => lease.assertHeld()).toThrow("max-hold");
  expect(await b.space.tryAcquire("n")).toMatchObject({ token: 2 });
});

scenario("LS68 a name is taken again after a loss or bad release [L51]", async (world) => {
  for (const how of ["lost", "failed"] as const) {
    const a = await world.client();
    for (let round = 1; round <= 3; round += 1) {
      const lease = await within(world.clock, 10_000, a.space.acquire(how, { lease: "3s" }));
      expect(lease).toMatchObject({ token: round, state: "held", leaseMs: 3_000 });
      const renewed = a.told("renewed").length;
      await world.clock.advance(9_000);
      lease.assertHeld();
      expect(a.told("renewed").length - renewed).toBeGreaterThanOrEqual(8);
      if (how === "lost") {
        await a.space.forceRelease(how, { reason: "test" });
        await world.clock.advance(1_100);
        expect(lease.state).toBe("lost");
      } else {
        a.engine.failNext({ kind: "fail" });
        expect(await rejection(lease.release())).toMatchObject({ code: "ENGINE_UNAVAILABLE" });
      }
    }
    expect(a.told("acquired")).toMatchObject([{ token: 1 }, { token: 2 }, { token: 3 }]);
    expect(a.told("lost")).toHaveLength(how === "lost" ? 3 : 0);
  }
});

scenario("LS69 the body's error wins over everything else [L50] [L52]", async (world) => {
  const a = await world.client({ callTimeout: "1s" });
  a.space.on("lost", () => {
    throw new Error("a listener threw");
  });
  const failure = new Error("the body threw");
  const using = a.space.using("n", { lease: "1s", renew: "manual" }, async () => {
    await new Promise<void>((resolve) => {
      world.clock.timer(2_000, resolve);
    });
    a.engine.fault = () => ({ kind: "drop" });
    throw failure;
  });
  const before = a.engine.calls;
  expect(await rejection(within(world.clock, 4_000, using))).toBe(failure);
  expect(a.engine.calls - before).toBeGreaterThan(1);
  expect(a.told("lost")).toEqual([{ name: "n", token: 1, reason: "expired" }]);
  expect(a.told("error")).toMatchObject([
    { error: { message: "a listener threw" }, while: "a listener of lost" },
    { error: { code: "ENGINE_UNAVAILABLE" }, while: 'releasing "n"' },
  ]);
  // Without any fault the lock is free when the call has settled, with the error of the body.
  a.engine.fault = () => ({ kind: "pass" });
  await world.clock.advance(1_000);
  const plain = a.space.using("m", {}, () => {
    throw failure;
  });
  expect(await rejection(plain)).toBe(failure);
  expect(await world.record("m")).toMatchObject({ grants: [], ended: [{ how: "released" }] });
});

scenario("LS70 work that outlived its lease is told so, with its result [L52]", async (world) => {
  const a = await world.client();
  const using = a.space.using("n", { lease: "1s", renew: "manual" }, async (_lease, signal) => {
    await new Promise<void>((resolve) => {
      world.clock.timer(2_000, resolve);
    });
    expect(signal.reason).toMatchObject({ code: "LEASE_LOST" });
    return 42;
  });
  expect(await rejection(within(world.clock, 3_000, using))).toMatchObject({
    code: "LEASE_LOST",
    retry: "change",
    lock: "n",
    token: 1,
    reason: "expired",
    result: 42,
  });
  expect(a.told("lost")).toEqual([{ name: "n", token: 1, reason: "expired" }]);
  expect(await world.record("n")).toMatchObject({ grants: [] });
  expect(await a.space.using("n", {}, (lease) => lease.token)).toBe(2);
  expect(await world.record("n")).toMatchObject({ grants: [] });
});

scenario(
  "a forced end that nobody knew of makes `using` reject with the result [L52]",
  async (world) => {
    const { space } = await world.client();
    const admin = await world.client();
    const call = space.using("n", { lease: "30s" }, async () => {
      await admin.space.forceRelease("n", { reason: "a drill" });
      return 42;
    });
    await expect(call).rejects.toMatchObject({
      code: "LEASE_LOST",
      reason: "forced",
      why: "a drill",
      result: 42,
    });
  },
);

scenario("a body that releases its lease itself has ended it on purpose [L52]", async (world) => {
  const { space } = await world.client();
  expect(await space.using("n", {}, async (lease) => lease.release())).toBe(true);
});
