import { expect } from "vitest";

import type { LockRecord, PageRecord } from "../../src/core/lock/record.ts";
import { lockRecordsOf } from "./records.ts";
import { rejection } from "./settling.ts";
import { scenario, track, within, type Client, type World } from "./world.ts";

/** The ids of all tickets of a lock in their order, those in pages included. */
async function queueOf(world: World, name: string): Promise<readonly string[]> {
  const record = (await world.record(name)) as LockRecord;
  const ids = record.queue.map(({ id }) => id);
  const { first, last } = record.pages ?? { first: 1, last: 0 };
  for (let page = first; page <= last; page += 1) {
    const key = ["queue", "default", name, String(page).padStart(16, "0")];
    const stored = (await world.stored(key)) as unknown as PageRecord | undefined;
    ids.push(...(stored?.tickets ?? []).map(({ id }) => id));
  }
  return ids;
}

/** Commits of this client that wrote a record of the queue of a lock. */
function queueWrites({ engine }: Client): number {
  return engine.commits.filter(({ writes }) => writes.some(({ key }) => key[0] === "lock")).length;
}

scenario("LS31 a thousand waiters cost little while they wait [L35] [L37]", async (world) => {
  const a = await world.client();
  const processes = await Promise.all(Array.from({ length: 4 }, () => world.client()));
  const held = await a.space.acquire("n", { lease: "2m", renew: "manual" });
  const calls = processes.flatMap(({ space }) =>
    Array.from({ length: 250 }, () => space.acquire("n", { wait: "5m" })),
  );
  const waiting = calls.map((call) => track(call));
  await world.clock.advance(10_000);
  expect((await world.status("n")).depth).toBe(1_000);
  const count = (): number => processes.reduce((sum, { engine }) => sum + engine.calls, 0);
  const before = count();
  const holderBefore = a.engine.calls;
  await world.clock.advance(40_000);
  // One look a second and process, and one presence renewal every 5 s: far under 200 a second.
  expect(count() - before).toBeLessThanOrEqual(4 * (40 + 8));
  expect(a.engine.calls).toBe(holderBefore);
  await held.release();
  await world.clock.advance(200);
  const granted = waiting.filter(({ state }) => state() === "resolved");
  expect(granted.map(({ value }) => value().token)).toEqual([2]);
  const closing = Promise.all(processes.map(({ space }) => space.close()));
  await within(world.clock, 5_000, closing);
  expect(await world.record("n")).toMatchObject({ queue: [], grants: [] });
});

scenario("LS32 half of a queue times out and nobody moves [L27] [L122]", async (world) => {
  const total = world.engine === "memory" ? 10_000 : 2_000;
  const a = await world.client();
  const b = await world.client();
  const timers = world.clock.timerCount;
  const held = await a.space.acquire("n", { lease: "5m", renew: "manual" });
  const leaving = new AbortController();
  const waits = Array.from({ length: total }, (_, place) => {
    const isShort = (place * 7_919) % 2_003 < 1_001;
    return isShort ? 1_000 + ((place * 104_729) % 9_000) : Infinity;
  });
  const calls = waits.map((wait) => b.space.acquire("n", { wait, signal: leaving.signal }));
  const waiting = calls.map((call) => track(call));
  await world.clock.advance(500);
  const queued = await queueOf(world, "n");
  expect(queued).toHaveLength(total);
  const shorts = waits.filter((wait) => wait !== Infinity).length;
  expect(Math.abs(shorts - total / 2)).toBeLessThan(total / 20);
  const before = queueWrites(b);
  await world.clock.advance(10_500);
  const stays = queued.filter((_, place) => waits[place] === Infinity);
  expect(await queueOf(world, "n")).toEqual(stays);
  expect(queueWrites(b) - before).toBeLessThanOrEqual(shorts);
  const states = waiting.map(({ state }) => state());
  const expected = waits.map((wait) => (wait === Infinity ? "waiting" : "rejected"));
  expect(states).toEqual(expected);
  leaving.abort();
  const errors = await Promise.all(
    calls.filter((_, place) => waits[place] === Infinity).map((call) => rejection(call)),
  );
  expect(errors).toMatchObject(errors.map(() => ({ code: "LOCK_ABORTED" })));
  await world.clock.advance(1_000);
  expect(await queueOf(world, "n")).toEqual([]);
  expect((await world.record("n"))?.counter).toBe(1);
  await held.release();
  expect(world.clock.timerCount).toBe(timers);
});

scenario("LS34 two hundred shared tickets follow an exclusive one [L18] [L19]", async (world) => {
  const a = await world.client();
  const processes = await Promise.all(Array.from({ length: 200 }, () => world.client()));
  const held = await a.space.acquire("n", { lease: "5m", renew: "manual" });
  const order: number[] = [];
  const calls = [];
  for (const [place, { space }] of processes.entries()) {
    const owner = `p${place}`;
    const call = space.acquire("n", { mode: "shared", wait: "5m", lease: "5m", owner });
    calls.push(call.then(() => order.push(place)));
    await world.clock.settle();
  }
  const before = a.engine.commits.length;
  let sent = 0;
  a.engine.fault = () => {
    sent += 1;
    return { kind: sent === 1 ? "pass" : "drop" };
  };
  await held.release();
  expect(a.engine.commits.length - before).toBe(1);
  const first = lockRecordsOf(a, "n").at(-1)?.grants.length;
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(200);
  await within(world.clock, 1_000, Promise.all(calls));
  const { grants, counter } = (await world.record("n")) as LockRecord;
  expect(counter).toBe(201);
  expect(grants.map(({ owner }) => owner)).toEqual(grants.map((_, place) => `p${place}`));
  expect(grants.map(({ token }) => token)).toEqual(grants.map((_, place) => place + 2));
  expect(order).toHaveLength(200);
});

scenario("LS35 a wait of 2^31 ms waits so long, without a ghost [L59]", async (world) => {
  const a = await world.client({ claimMax: "365d" });
  const b = await world.client();
  await a.space.claim("n", "o", { lease: "60d" });
  const wait = 2 ** 31;
  const startMs = world.clock.monotonicMs();
  const startedAt = await world.now();
  const waiting = track(b.space.acquire("n", { wait }));
  await world.clock.advance(20_000);
  expect(waiting.state()).toBe("waiting");
  const { queue } = (await world.record("n")) as LockRecord;
  expect(queue).toMatchObject([{ giveUpAt: startedAt + wait + 5_000 }]);
  // The days go by in one jump, as on a host that was paused.
  world.clock.stall(wait - 21_000);
  await world.clock.advance(999);
  expect(waiting.state()).toBe("waiting");
  expect(world.clock.monotonicMs() - startMs).toBe(wait - 1);
  await world.clock.advance(1);
  expect(waiting.error()).toMatchObject({ code: "LOCK_WAIT_TIMEOUT", waitedMs: wait });
  expect(await world.record("n")).toMatchObject({ queue: [], counter: 1 });
});
