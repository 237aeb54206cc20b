import { expect } from "vitest";

import type { LockRecord } from "../../src/core/lock/record.ts";
import { rejection } from "./settling.ts";
import { scenario, track, within, type Client, type World } from "./world.ts";

async function clients(world: World, count: number): Promise<Client[]> {
  return Promise.all(Array.from({ length: count }, () => world.client()));
}

/** The error of a promise that has settled by now, in this very turn. */
async function settledNow(promise: Promise<unknown>): Promise<unknown> {
  const tracked = track(promise);
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  expect(tracked.state()).toBe("rejected");
  return tracked.error();
}

scenario("LS44 an abort rejects in the same turn, and the ticket goes [L30]", async (world) => {
  const [a, b, c] = (await clients(world, 3)) as [Client, Client, Client];
  const held = await a.space.acquire("n");
  const caller = new AbortController();
  const aborted = b.space.acquire("n", { wait: "1m", signal: caller.signal });
  await world.clock.settle();
  const behind = track(c.space.acquire("n", { wait: "1m" }));
  await world.clock.advance(500);
  expect((await world.status("n")).depth).toBe(2);
  const reason = new Error("changed my mind");
  caller.abort(reason);
  expect(await settledNow(aborted)).toMatchObject({
    code: "LOCK_ABORTED",
    retry: "never",
    lock: "n",
    cause: reason,
  });
  await world.clock.advance(1_000);
  expect((await world.status("n")).depth).toBe(1);
  expect(b.told("acquired")).toEqual([]);
  await held.release();
  await world.clock.advance(200);
  // Nobody was granted in between, so no token is burnt.
  expect(behind.value().token).toBe(2);
});

scenario("LS45 a grant whose call was aborted is cancelled at once [L30]", async (world) => {
  const [a, b, c] = (await clients(world, 3)) as [Client, Client, Client];
  const caller = new AbortController();
  // The grant is committed, and its answer is still under way when the cancel is due.
  b.engine.failNext({ kind: "late-answer", ms: 5_000 });
  const call = b.space.acquire("free", { lease: "5m", signal: caller.signal });
  await world.clock.settle();
  expect((await world.record("free"))?.grants).toMatchObject([{ token: 1 }]);
  caller.abort("enough");
  expect(await settledNow(call)).toMatchObject({ code: "LOCK_ABORTED", cause: "enough" });
  await world.clock.advance(1_000);
  expect(await c.space.tryAcquire("free")).toMatchObject({ token: 2 });
  expect((await world.record("free"))?.ended).toMatchObject([{ token: 1, how: "cancelled" }]);
  // The same for a grant that another process has made for a waiter.
  const held = await a.space.acquire("queued");
  const again = new AbortController();
  const waits = b.space.acquire("queued", { wait: "1m", lease: "5m", signal: again.signal });
  await world.clock.settle();
  b.engine.dropsHints = true;
  await held.release();
  expect((await world.record("queued"))?.grants).toMatchObject([{ state: "pending" }]);
  again.abort("enough");
  expect(await settledNow(waits)).toMatchObject({ code: "LOCK_ABORTED" });
  await world.clock.advance(1_000);
  expect(await world.record("queued")).toMatchObject({ grants: [], queue: [] });
  expect(b.told("acquired")).toEqual([]);
});

scenario("LS46 an aborted request leaves nothing on a bad line [L30] [L117]", async (world) => {
  const faults = [
    { kind: "late-answer", ms: 300 },
    { kind: "late-unknown", ms: 300 },
    { kind: "unknown-applied" },
    { kind: "delay", ms: 300 },
    { kind: "hang" },
  ] as const;
  for (const [round, fault] of faults.entries()) {
    const [a, b, c] = (await clients(world, 3)) as [Client, Client, Client];
    const name = `n${round}`;
    const held = await a.space.acquire(name);
    const caller = new AbortController();
    let serial = 0;
    b.engine.fault = () => {
      serial += 1;
      if (serial === 1) return fault;
      // The clean-up meets a bad line, too: its first calls are all lost on it.
      if (serial <= 7) return { kind: serial % 2 === 0 ? "drop" : "unknown-lost" };
      return { kind: "pass" };
    };
    const call = b.space.acquire(name, { wait: "1m", signal: caller.signal });
    await world.clock.advance(20);
    caller.abort("enough");
    expect(await settledNow(call)).toMatchObject({ code: "LOCK_ABORTED" });
    await held.release();
    const next = await within(world.clock, 5_000, c.space.acquire(name, { wait: "1m" }));
    await world.clock.advance(5_000);
    expect(await world.record(name)).toMatchObject({ queue: [], grants: [{ token: next.token }] });
    expect(next.state).toBe("held");
    expect(b.told("acquired")).toEqual([]);
  }
});

scenario("LS47 a call that expired in a local queue is never sent [L33]", async (world) => {
  // The engine takes no call for 10 s: everything waits at its door.
  const { space, engine } = await world.client({ callTimeout: "2s" });
  const commits = engine.commits.length;
  engine.fault = () => ({ kind: "delay", ms: 10_000 });
  const timedOut = [
    space.tryAcquire("n"),
    space.acquire("n", { wait: 0 }),
    space.tryClaim("n", "o"),
    space.acquire("n", { wait: "2s" }),
  ];
  const caller = new AbortController();
  const aborted = space.acquire("n", { wait: "1m", signal: caller.signal });
  await world.clock.advance(100);
  caller.abort();
  const settled = Promise.all([...timedOut, aborted].map((call) => rejection(call)));
  await within(world.clock, 14_000, settled);
  await world.clock.advance(30_000);
  expect((await world.record("n"))?.grants ?? []).toEqual([]);
  const writes = engine.commits.slice(commits).flatMap((commit) => commit.writes);
  const grants = writes
    .filter(({ key }) => key[0] === "lock")
    .map(({ value }) => (value as unknown as LockRecord).grants.length);
  expect(grants.every((count) => count === 0)).toBe(true);
});

scenario("LS48 a signal ends the waiting and nothing else [L32] [L52]", async (world) => {
  const { space, told } = await world.client();
  const b = await world.client();
  const caller = new AbortController();
  const held = await space.acquire("n", { lease: "3s", signal: caller.signal });
  await world.clock.advance(1_000);
  caller.abort();
  await world.clock.advance(10_000);
  held.assertHeld();
  expect(told("renewed").length).toBeGreaterThan(5);
  expect(told("error")).toEqual([]);
  expect(await b.space.tryAcquire("n")).toBeNull();
  expect(held.signal.aborted).toBe(false);
  const second = new AbortController();
  const seen: unknown[] = [];
  const using = space.using("u", { lease: "3s", signal: second.signal }, (lease, signal) => {
    signal.addEventListener("abort", () => seen.push(signal.reason));
    return new Promise((resolve) => {
      world.clock.timer(10_000, () => resolve(lease.state));
    });
  });
  const running = track(using);
  await world.clock.advance(1_000);
  second.abort("stop");
  await world.clock.advance(8_999);
  expect(seen).toEqual(["stop"]);
  expect(running.state()).toBe("waiting");
  expect(await b.space.tryAcquire("u")).toBeNull();
  await world.clock.advance(1);
  expect(running.value()).toBe("held");
  await world.clock.settle();
  expect(await b.space.tryAcquire("u")).toMatchObject({ token: 2 });
});

scenario("LS49 a grant within one process is held at once [L22] [L30]", async (world) => {
  const a = await world.client();
  const b = await world.client();
  const held = await a.space.acquire("n", { owner: "first" });
  const own = track(a.space.acquire("n", { wait: "1m", owner: "own" }));
  await world.clock.settle();
  const before = a.engine.calls;
  await held.release();
  expect((await world.record("n"))?.grants).toMatchObject([
    { owner: "own", token: 2, state: "held", spanMs: 30_000 },
  ]);
  expect(own.value()).toMatchObject({ token: 2, state: "held" });
  expect(a.engine.calls - before).toBe(1);
  // The waiter aborts in the turn in which its own process releases to it.
  const caller = new AbortController();
  const aborted = a.space.acquire("n", { wait: "1m", signal: caller.signal });
  await world.clock.settle();
  const behind = track(b.space.acquire("n", { wait: "1m" }));
  await world.clock.settle();
  const releasing = own.value().release();
  caller.abort("enough");
  expect(await settledNow(aborted)).toMatchObject({ code: "LOCK_ABORTED" });
  expect(await releasing).toBe(true);
  await world.clock.advance(1_000);
  expect(behind.value().state).toBe("held");
  expect(await world.record("n")).toMatchObject({ queue: [], grants: [{ state: "held" }] });
  expect(a.told("acquired")).toMatchObject([{ token: 1 }, { token: 2 }]);
});

scenario("LS51 a store that never answers is no time-out [L29]", async (world) => {
  for (const kind of ["drop", "hang", "unknown-lost"] as const) {
    const [a, b] = (await clients(world, 2)) as [Client, Client];
    const name = `n-${kind}`;
    const held = await a.space.acquire(name);
    b.engine.fault = () => ({ kind });
    const startMs = world.clock.monotonicMs();
    const error = await rejection(
      within(world.clock, 3_100, b.space.acquire(name, { wait: "2s" })),
    );
    expect(error).toMatchObject({ code: "ENGINE_UNAVAILABLE", retry: "later", status: 503 });
    const tookMs = world.clock.monotonicMs() - startMs;
    expect(tookMs).toBeGreaterThanOrEqual(2_000);
    expect(tookMs).toBeLessThanOrEqual(3_010);
    b.engine.fault = () => ({ kind: "pass" });
    await world.clock.advance(10_000);
    expect(await world.record(name)).toMatchObject({ queue: [], counter: 1 });
    held.assertHeld();
  }
});
