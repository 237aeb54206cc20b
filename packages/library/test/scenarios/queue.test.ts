import { expect } from "vitest";

import type { LockRecord } from "../../src/core/lock/record.ts";
import { FakeClock } from "../../src/time/fake-clock.ts";
import { lockRecordsOf } from "./records.ts";
import { advanceTogether, rejection } from "./settling.ts";
import { scenario, track, within, type Client, type World } from "./world.ts";

async function clients(world: World, count: number): Promise<readonly Client[]> {
  return Promise.all(Array.from({ length: count }, () => world.client()));
}

scenario("LS22 nobody passes the queue, however newcomers press [L18]", async (world) => {
  const [a, ...others] = await clients(world, 7);
  const waiting = others.slice(0, 3);
  const newcomers = others.slice(3);
  const rounds = world.engine === "memory" ? 200 : 40;
  for (let round = 0; round < rounds; round += 1) {
    const name = `n${round}`;
    const order: number[] = [];
    const passThrough = async (client: Client): Promise<void> => {
      const lease = await client.space.acquire(name);
      order.push(others.indexOf(client));
      await lease.release();
    };
    const held = await (a as Client).space.acquire(name);
    const calls: Promise<unknown>[] = [];
    for (const client of waiting) {
      calls.push(passThrough(client));
      await world.clock.settle();
    }
    for (const [place, client] of newcomers.entries()) {
      if (round % 4 === place) calls.push(held.release());
      calls.push(passThrough(client));
      if (round % 3 === 0) await world.clock.settle();
    }
    if (round % 4 === 3) calls.push(held.release());
    await within(world.clock, 2_000, Promise.all(calls));
    expect(order).toEqual([0, 1, 2, 3, 4, 5]);
  }
});

scenario("LS23 a try at the end finds the waiter's grant [L10] [L18]", async (world) => {
  const [a, b, c] = (await clients(world, 3)) as [Client, Client, Client];
  await a.space.acquire("n", { renew: "manual" });
  const waits = track(b.space.acquire("n", { wait: "1m", owner: "b" }));
  await world.clock.settle();
  await world.clock.advance(29_999);
  world.clock.stall(1);
  let denial: unknown;
  const refused = (facts: unknown): void => {
    denial = facts;
  };
  expect(await c.space.tryAcquire("n", { refused })).toBeNull();
  expect(denial).toMatchObject({
    reason: "held",
    holders: [{ owner: "b", token: 2, state: "pending" }],
    position: null,
  });
  expect(c.told("reclaimed")).toMatchObject([{ name: "n", token: 1 }]);
  await world.clock.advance(200);
  expect(waits.value()).toMatchObject({ token: 2, state: "held" });
  expect(await c.space.tryAcquire("n")).toBeNull();
  expect((await world.record("n"))?.grants).toMatchObject([{ token: 2, state: "held" }]);
});

scenario("LS24 a release and the next grant are one commit [L20]", async (world) => {
  const [a, b, c] = (await clients(world, 3)) as [Client, Client, Client];
  const held = await a.space.acquire("n");
  const second = track(b.space.acquire("n", { wait: "1m" }));
  await world.clock.settle();
  const third = track(c.space.acquire("n", { wait: "1m" }));
  await world.clock.settle();
  const before = a.engine.commits.length;
  expect(await held.release()).toBe(true);
  expect(a.engine.commits.length - before).toBe(1);
  await world.clock.advance(200);
  expect(second.value().token).toBe(2);
  await within(world.clock, 200, second.value().release());
  await world.clock.advance(200);
  expect(third.value().token).toBe(3);
  const states = [a, b, c].flatMap((client) => lockRecordsOf(client, "n"));
  expect(states.length).toBeGreaterThan(5);
  expect(states.map(({ grants }) => grants.length)).toEqual(states.map(() => 1));
  expect(a.events.at(-1)).toEqual({ event: "released", facts: { name: "n", token: 1 } });
});

scenario("LS25 a lease of a waiter counts from its grant [L12] [L40]", async (world) => {
  for (const renew of ["auto", "manual"] as const) {
    const [a, b] = (await clients(world, 2)) as [Client, Client];
    const held = await a.space.acquire(renew);
    const waits = b.space.acquire(renew, { lease: "1s", wait: "10s", renew });
    const waiting = track(waits);
    await world.clock.advance(3_000);
    expect(waiting.state()).toBe("waiting");
    const releasedAt = await world.now();
    await held.release();
    const lease = await within(world.clock, 200, waits);
    const now = await world.now();
    expect(lease.expiresAt).toBe(lease.grantedAt + 1_000);
    expect(lease.grantedAt).toBeGreaterThanOrEqual(releasedAt);
    expect(lease.expiresAt - now).toBeGreaterThanOrEqual(900);
    expect(lease.expiresAt - now).toBeLessThanOrEqual(1_000);
    const stored = (await world.record(renew))?.grants;
    expect(stored).toMatchObject([{ expiresAt: lease.expiresAt, spanMs: 1_000, leaseMs: 1_000 }]);
    await world.clock.advance(999);
    expect(await a.space.tryAcquire(renew)).toBeNull();
    await world.clock.advance(renew === "auto" ? 4_001 : 1);
    const taken = await a.space.tryAcquire(renew);
    expect(taken?.token).toBe(renew === "auto" ? undefined : 3);
    expect(lease.state).toBe(renew === "auto" ? "held" : "lost");
  }
});

scenario("LS26 a dead holder's lock is granted soon after its end [L36]", async (world) => {
  for (let run = 0; run < 12; run += 1) {
    const [a, b] = (await clients(world, 2)) as [Client, Client];
    const name = `n${run}`;
    await a.space.acquire(name, { lease: "5s" });
    const waiting = track(b.space.acquire(name, { wait: "20s" }));
    await world.clock.advance(370 * run);
    a.kill();
    const end = (await world.record(name))?.grants[0]?.expiresAt as number;
    await world.clock.advance(end - 1 - (await world.now()));
    expect(waiting.state()).toBe("waiting");
    await world.clock.advance(1_001);
    expect(waiting.state()).toBe("resolved");
    expect(waiting.value().grantedAt).toBeGreaterThanOrEqual(end);
    expect(await world.record(name)).toMatchObject({ queue: [], grants: [{ token: 2 }] });
    expect(b.told("reclaimed")).toMatchObject([{ name, token: 1 }]);
    await waiting.value().release();
    await b.space.close();
  }
});

scenario("LS27 without any hint a grant is noticed within a look period [L35]", async (world) => {
  const [a, b] = (await clients(world, 2)) as [Client, Client];
  b.engine.dropsHints = true;
  b.engine.fault = () => ({ kind: "delay", ms: 50 });
  for (let afterMs = 0; afterMs <= 100; afterMs += 4) {
    const held = await a.space.acquire("n");
    const call = b.space.acquire("n", { wait: "20s" });
    await world.clock.advance(afterMs);
    await held.release();
    const releasedAt = await world.now();
    const lease = await within(world.clock, 1_100, call);
    expect((await world.now()) - releasedAt).toBeLessThanOrEqual(1_050 + 10);
    await within(world.clock, 100, lease.release());
  }
});

scenario("LS28 a timer that fires early is set again [L36]", async (world) => {
  const own = new FakeClock({ monotonicMs: world.clock.monotonicMs() });
  const a = await world.client();
  // Neither a renewal of the presence nor a look of the period falls into the test.
  const options = { presenceLease: "1m", lookPeriod: "30s" };
  const b = await world.client(options, { clock: own });
  const clocks = [world.clock, own];
  const held = await a.space.acquire("n", { lease: "5s", renew: "manual" });
  const waiting = track(b.space.acquire("n", { wait: "20s" }));
  await advanceTogether(clocks, 4_200);
  const end = own.monotonicMs() + held.expiresAt - (await world.now());
  expect(own.nextAtMs).toBe(end + 5);
  const before = b.engine.calls;
  for (let early = 0; early < 5; early += 1) await own.fireEarly();
  expect(b.engine.calls).toBe(before);
  expect(own.nextAtMs).toBe(end + 5);
  await advanceTogether(clocks, 799);
  expect(waiting.state()).toBe("waiting");
  await advanceTogether(clocks, 7, 1);
  expect(waiting.value().token).toBe(2);
  expect(waiting.value().grantedAt).toBeLessThanOrEqual(held.expiresAt + 10);
});

scenario("LS29 a restart costs nobody the place in line [L17] [L36] [L48]", async (world) => {
  for (const [name, lease] of [
    ["survives", "30s"],
    ["knows", "3s"],
  ] as const) {
    const [a, ...processes] = (await clients(world, 5)) as [Client, ...Client[]];
    const held = await a.space.acquire(name, { lease });
    const order: number[] = [];
    const tokens: number[] = [];
    const passThrough = async (place: number): Promise<void> => {
      const process = processes[place % 4] as Client;
      const waits = await process.space.acquire(name, { wait: "2m" });
      // A holder that is not told by now would overlap with this one.
      expect(held.state).not.toBe("held");
      order.push(place);
      tokens.push(waits.token);
      await waits.release();
    };
    const calls: Promise<void>[] = [];
    for (let place = 0; place < 20; place += 1) {
      calls.push(passThrough(place));
      await world.clock.settle();
    }
    await world.clock.advance(2_000);
    const everybody = [a, ...processes];
    for (const { engine } of everybody) {
      engine.fault = () => ({ kind: "drop" });
      engine.dropsHints = true;
    }
    await world.clock.advance(5_000);
    expect(order).toEqual([]);
    for (const { engine } of everybody) {
      engine.fault = () => ({ kind: "pass" });
      engine.dropsHints = false;
    }
    if (lease === "30s") held.assertHeld();
    else expect(held.state).toBe("lost");
    await within(world.clock, 5_000, held.release());
    await within(world.clock, 60_000, Promise.all(calls));
    expect(order).toEqual(Array.from({ length: 20 }, (_, place) => place));
    expect(tokens).toEqual(tokens.map((_, place) => place + 2));
    expect(await world.record(name)).toMatchObject({ queue: [], grants: [] });
  }
});

scenario("LS33 a full queue refuses before any ticket is written [L34]", async (world) => {
  const options = { queueLimit: 3 };
  const a = await world.client(options);
  const waiters = await Promise.all([1, 2, 3].map(() => world.client(options)));
  await a.space.acquire("n");
  const calls = waiters.map(({ space }) => track(space.acquire("n", { wait: "2m" })));
  await world.clock.settle();
  const full = await world.record("n");
  const fourth = await world.client(options);
  expect(await rejection(fourth.space.acquire("n", { wait: "1m" }))).toMatchObject({
    code: "QUEUE_FULL",
    retry: "later",
    status: 503,
    lock: "n",
    depth: 3,
    limit: 3,
  });
  expect((await world.record("n"))?.queue).toEqual(full?.queue);
  expect(fourth.engine.commits).toEqual([]);
  waiters[1]?.kill();
  await world.clock.advance(15_001);
  const later = track(fourth.space.acquire("n", { wait: "1m", owner: "fourth" }));
  await world.clock.settle();
  expect(later.state()).toBe("waiting");
  const { queue } = (await world.record("n")) as LockRecord;
  expect(queue.map(({ number, owner }) => [number, owner === "fourth"])).toEqual([
    [1, false],
    [3, false],
    [4, true],
  ]);
  expect(calls.map(({ state }) => state())).toEqual(["waiting", "waiting", "waiting"]);
});
