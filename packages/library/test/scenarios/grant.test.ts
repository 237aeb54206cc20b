import { AsyncLocalStorage } from "node:async_hooks";

import { expect } from "vitest";

import type { LockRecord } from "../../src/core/lock/record.ts";
import { storedGrant, storedLock } from "./records.ts";
import { rejection } from "./settling.ts";
import { scenario, track, within } from "./world.ts";

scenario("LS14 a fired signal is refused without traffic [L6] [L31]", async (world) => {
  const a = await world.client();
  const b = await world.client();
  const held = await a.space.acquire("held");
  const stored = await world.record("held");
  const before = b.engine.calls;
  const reason = new Error("not today");
  const signal = AbortSignal.abort(reason);
  for (const lock of ["free", "held"]) {
    const calls = [
      b.space.acquire(lock, { signal }),
      b.space.acquire(lock, { signal, wait: 0 }),
      b.space.tryAcquire(lock, { signal }),
      b.space.using(lock, { signal }, () => 1),
      b.space.claim(lock, "o", { signal }),
      b.space.tryClaim(lock, "o", { signal }),
      b.space.resume(lock, "o", { signal }),
    ];
    const errors = await Promise.all(calls.map((call) => rejection(call)));
    const facts = { code: "LOCK_ABORTED", retry: "never", lock, cause: reason };
    expect(errors).toMatchObject(calls.map(() => facts));
  }
  expect(b.engine.calls).toBe(before);
  expect(b.events).toEqual([]);
  expect(await world.record("free")).toBeUndefined();
  expect(await world.record("held")).toEqual(stored);
  held.assertHeld();
});

scenario("LS15 the simplest call holds for as long as it is kept [L40]", async (world) => {
  const a = await world.client({ lease: "1s" });
  const b = await world.client();
  const held = await a.space.acquire("n");
  for (let passed = 0; passed < 3_000; passed += 100) {
    await world.clock.advance(100);
    expect(await b.space.tryAcquire("n")).toBeNull();
    held.assertHeld();
  }
  expect(held.token).toBe(1);
  expect(held.expiresAt).toBeGreaterThan(await world.now());
  expect(a.told("renewed").length).toBeGreaterThanOrEqual(8);
  expect(a.told("lost")).toEqual([]);
  expect(await held.release()).toBe(true);
});

scenario("LS16 two grants of one process exclude each other [L13]", async (world) => {
  const { space, told } = await world.client({ owner: "same" });
  const flow = new AsyncLocalStorage<string>();
  const held = await flow.run("first", () => space.acquire("n", { owner: "same" }));
  const second = flow.run("first", () => space.acquire("n", { owner: "same", wait: 200 }));
  const error = await rejection(within(world.clock, 1_000, second));
  expect(error).toMatchObject({
    code: "LOCK_WAIT_TIMEOUT",
    waitedMs: 200,
    denial: { holders: [{ owner: "same", token: 1 }] },
  });
  expect(await space.tryAcquire("n", { owner: "same" })).toBeNull();
  expect((await world.record("n"))?.counter).toBe(1);
  await flow.run("second", () => held.renew("20s"));
  expect(held.expiresAt).toBe((await world.now()) + 20_000);
  expect(await flow.run("second", () => held.release())).toBe(true);
  expect(told("released")).toEqual([{ name: "n", token: 1 }]);
  expect(await space.tryAcquire("n")).toMatchObject({ token: 2 });
});

scenario("LS17 a write that failed definitely leaves nothing behind [L116]", async (world) => {
  const { space, engine, told } = await world.client();
  const calls = [
    () => space.acquire("n"),
    () => space.acquire("n", { wait: 0 }),
    () => space.tryAcquire("n"),
  ];
  for (const call of calls) {
    engine.failNext({ kind: "fail" });
    expect(await rejection(call())).toMatchObject({
      code: "ENGINE_UNAVAILABLE",
      retry: "change",
      outcome: "none",
    });
    expect(await world.record("n")).toBeUndefined();
  }
  await world.clock.advance(60_000);
  expect(await world.record("n")).toBeUndefined();
  expect(told("acquired")).toEqual([]);
  const lease = await space.acquire("n");
  expect(lease.token).toBe(1);
  expect(told("acquired")).toMatchObject([{ token: 1 }]);
});

scenario("LS18 a read-only space reads and does nothing else [L124]", async (world) => {
  const writer = await world.client();
  const { space, engine } = await world.client({ readOnly: true });
  const held = await writer.space.acquire("n");
  const stored = await world.record("n");
  const before = engine.calls;
  const calls = {
    acquire: () => space.acquire("n"),
    tryAcquire: () => space.tryAcquire("n"),
    using: () => space.using("n", {}, () => 1),
    claim: () => space.claim("n", "o"),
    tryClaim: () => space.tryClaim("n", "o"),
    resume: () => space.resume("n", "o"),
    releaseClaim: () => space.releaseClaim("n", "o"),
    forceRelease: () => space.forceRelease("n", { reason: "r" }),
    sweep: () => space.sweep(),
    raiseFloor: () => space.raiseFloor({ to: 9, reason: "r" }),
  };
  for (const call of Object.values(calls)) {
    const error = await rejection(call());
    expect(error).toMatchObject({ code: "READ_ONLY", retry: "never", status: 403 });
  }
  expect(engine.calls).toBe(before);
  expect(await space.status("n")).toMatchObject({ state: "held", token: held.token });
  expect(await space.why("n")).toMatchObject({ name: "n", earliestAt: held.expiresAt });
  expect((await space.list()).locks).toMatchObject([{ name: "n", state: "held" }]);
  expect(engine.commits).toEqual([]);
  expect(await world.record("n")).toEqual(stored);
});

scenario("LS19 an engine that refuses is no lock that is held [L115]", async (world) => {
  const { space, engine, told } = await world.client({ callTimeout: "2s" });
  for (const kind of ["fail", "drop", "unknown-lost"] as const) {
    const calls: readonly (() => Promise<unknown>)[] = [
      () => space.tryAcquire("n"),
      () => space.tryClaim("n", "o"),
      () => space.acquire("n", { wait: 0 }),
      () => space.resume("n", "o"),
      () => space.releaseClaim("n", "o"),
    ];
    for (const call of calls) {
      engine.fault = () => ({ kind });
      const error = await rejection(within(world.clock, 2_100, call()));
      const outcome = kind === "unknown-lost" ? "unknown" : "none";
      const retry = kind === "fail" ? "change" : "later";
      expect(error).toMatchObject({ code: "ENGINE_UNAVAILABLE", retry, outcome });
    }
  }
  expect(told("refused")).toEqual([]);
  engine.fault = () => ({ kind: "pass" });
  await world.clock.advance(2_000);
  expect((await world.record("n"))?.grants ?? []).toEqual([]);
  expect(await space.tryClaim("n", "o")).toBe(true);
});

scenario("LS20 a damaged grant is over, a damaged record an error [L118]", async (world) => {
  const { space } = await world.client();
  const now = await world.now();
  const { expiresAt: _end, ...endless } = storedGrant(now, { token: 4 });
  const withoutEnd = storedLock({ counter: 4, grants: [endless] as never });
  await world.put(["lock", "default", "endless"], withoutEnd);
  expect(await space.status("endless")).toMatchObject({ state: "lapsed", token: 0 });
  expect(await space.acquire("endless")).toMatchObject({ token: 5 });
  const { counter: _counter, ...uncounted } = storedLock({}) as unknown as LockRecord;
  const records = {
    uncounted: uncounted as never,
    "version-9": { ...uncounted, counter: 1, v: 9 } as never,
    "no-object": "held",
    "no-list": { ...uncounted, counter: 1, grants: "none" } as never,
  };
  for (const [name, value] of Object.entries(records)) {
    await world.put(["lock", "default", name], value);
    for (const call of [
      () => space.acquire(name),
      () => space.tryAcquire(name),
      () => space.tryClaim(name, "o"),
      () => space.status(name),
      () => space.forceRelease(name, { reason: "r" }),
    ]) {
      const error = await rejection(call());
      expect(error).toMatchObject({ code: "RECORD_CORRUPT", retry: "never", status: 500 });
      expect((error as { key: string }).key).toContain(name);
    }
    expect(await world.stored(["lock", "default", name])).toEqual(value);
  }
  const other = track(space.acquire("healthy"));
  await world.clock.settle();
  expect(other.value().token).toBe(1);
});
