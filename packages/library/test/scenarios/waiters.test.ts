import { expect } from "vitest";

import type { LockRecord } from "../../src/core/lock/record.ts";
import { FakeClock } from "../../src/time/fake-clock.ts";
import { lockRecordsOf } from "./records.ts";
import { advanceTogether } from "./settling.ts";
import { scenario, track, within, type Client, type World } from "./world.ts";

async function clients(world: World, count: number): Promise<Client[]> {
  return Promise.all(Array.from({ length: count }, () => world.client()));
}

scenario("LS36 a timed-out ticket leaves and burns nothing [L26] [L27]", async (world) => {
  const [a, b, c] = (await clients(world, 3)) as [Client, Client, Client];
  const held = await a.space.acquire("n");
  const first = track(b.space.acquire("n", { wait: "5s" }));
  await world.clock.settle();
  const second = track(c.space.acquire("n", { wait: "60s", owner: "c" }));
  await world.clock.advance(4_999);
  expect(first.state()).toBe("waiting");
  await world.clock.advance(1);
  expect(first.error()).toMatchObject({
    code: "LOCK_WAIT_TIMEOUT",
    waitedMs: 5_000,
    denial: { reason: "held", holders: [{ token: 1 }], until: held.expiresAt, position: 0 },
  });
  const status = await world.status("n");
  expect(status).toMatchObject({ depth: 1, queue: [{ owner: "c", position: 0 }] });
  await held.release();
  await world.clock.advance(200);
  expect(second.value().token).toBe(2);
});

scenario("LS37 a grant that the final decision finds is taken [L26]", async (world) => {
  // The wait ends at 5 s: the lock is released just before, and the waiter's timer runs late.
  const own = new FakeClock({ monotonicMs: world.clock.monotonicMs() });
  const a = await world.client();
  // No look falls into the wait, so that the final decision alone finds the grant.
  const b = await world.client({ lookPeriod: "30s" }, { clock: own });
  b.engine.dropsHints = true;
  const held = await a.space.acquire("released");
  const late = track(b.space.acquire("released", { wait: "5s" }));
  await advanceTogether([world.clock, own], 4_900);
  await advanceTogether([world.clock, own], 99, 1);
  await held.release();
  own.stall(901);
  await world.clock.advance(901);
  await own.advance(0);
  expect(late.value()).toMatchObject({ token: 2, state: "held" });
  await advanceTogether([world.clock, own], 2_000, 100);
  expect(late.value().state).toBe("held");
  expect((await world.record("released"))?.grants).toMatchObject([{ token: 2, state: "held" }]);
  // The holder's lease ends exactly when the wait does.
  const lapses = await world.client();
  const unlooked = await world.client({ lookPeriod: "30s" });
  await lapses.space.acquire("lapsed", { lease: "5s", renew: "manual" });
  const exact = track(unlooked.space.acquire("lapsed", { wait: "5s" }));
  await world.clock.advance(5_000);
  expect(exact.value()).toMatchObject({ token: 2, state: "held" });
  await world.clock.advance(2_000);
  expect(exact.value().state).toBe("held");
});

scenario("LS38 after time-outs a released lock is simply free [L27]", async (world) => {
  const [a, b, c, d] = (await clients(world, 4)) as [Client, Client, Client, Client];
  const held = await a.space.acquire("n");
  const calls = [b, c].map(({ space }) => track(space.acquire("n", { wait: "2s" })));
  await world.clock.advance(2_000);
  const codes = calls.map(({ error }) => (error() as { code: string }).code);
  expect(codes).toEqual(["LOCK_WAIT_TIMEOUT", "LOCK_WAIT_TIMEOUT"]);
  await held.release();
  expect(await d.space.status("n")).toMatchObject({ state: "free", depth: 0, counter: 1 });
  expect(await d.space.tryAcquire("n")).toMatchObject({ token: 2 });
});

scenario("LS39 a dead process is passed over at the hand-over [L21] [L24]", async (world) => {
  for (const deadForMs of [0, 16_000]) {
    const [a, b, c, d] = (await clients(world, 4)) as [Client, Client, Client, Client];
    const name = `dead-for-${deadForMs}`;
    const held = await a.space.acquire(name);
    const waiting = [b, c, d].map(({ space }) => {
      const call = track(space.acquire(name, { wait: "2m" }));
      return call;
    });
    await world.clock.settle();
    b.kill();
    await world.clock.advance(deadForMs);
    await held.release();
    const releasedAt = await world.now();
    const [first, second, third] = waiting;
    const call = new Promise((resolve) => {
      const look = world.clock.timer.bind(world.clock);
      const poll = (): void => {
        if (second?.state() === "resolved") resolve(undefined);
        else look(10, poll);
      };
      poll();
    });
    await within(world.clock, 6_000, call);
    const tookMs = (await world.now()) - releasedAt;
    // A ticket still alive when it was granted costs the confirm window; a dead one nothing.
    expect(tookMs).toBeLessThanOrEqual(deadForMs === 0 ? 6_000 : 200);
    expect(second?.value().token).toBe(deadForMs === 0 ? 3 : 2);
    expect(first?.state()).toBe("waiting");
    expect(third?.state()).toBe("waiting");
    const { ended } = (await world.record(name)) as LockRecord;
    expect(ended.map(({ how }) => how)).toEqual(
      deadForMs === 0 ? ["released", "withdrawn"] : ["released"],
    );
  }
});

scenario("LS40 many waiters of one dead process delay others by little [L21]", async (world) => {
  for (const [name, afterMs, mostMs] of [
    ["later", 20_000, 1_000],
    ["at-once", 0, 20_000],
  ] as const) {
    const [a, b, c] = (await clients(world, 3)) as [Client, Client, Client];
    const held = await a.space.acquire(name, { lease: "5m" });
    for (let place = 0; place < 500; place += 1) {
      void b.space.acquire(name, { wait: "10m" }).catch(() => undefined);
    }
    await world.clock.settle();
    const next = c.space.acquire(name, { wait: "5m" });
    await world.clock.settle();
    expect((await world.status(name)).depth).toBe(501);
    b.kill();
    await world.clock.advance(afterMs);
    await held.release();
    const releasedAt = await world.now();
    await within(world.clock, mostMs, next);
    expect((await world.now()) - releasedAt).toBeLessThanOrEqual(mostMs);
    expect(await world.record(name)).toMatchObject({ queue: [] });
  }
});

scenario("LS41 an unconfirmed grant goes to the next at once [L22] [L24]", async (world) => {
  const [a, b, c] = (await clients(world, 3)) as [Client, Client, Client];
  const held = await a.space.acquire("n", { lockDelay: "3s" });
  void b.space.acquire("n", { wait: "2m", owner: "b", lockDelay: "3s" }).catch(() => undefined);
  await world.clock.settle();
  const waiting = track(c.space.acquire("n", { wait: "2m", owner: "c" }));
  await world.clock.settle();
  b.kill();
  await held.release();
  const releasedAt = await world.now();
  const pending = (await world.record("n")) as LockRecord;
  expect(pending.grants).toMatchObject([
    { owner: "b", token: 2, state: "pending", expiresAt: releasedAt + 5_000, spanMs: 5_000 },
  ]);
  await world.clock.advance(4_999);
  expect(waiting.state()).toBe("waiting");
  await world.clock.advance(101);
  expect(waiting.value().token).toBe(3);
  expect(waiting.value().grantedAt).toBeGreaterThanOrEqual(releasedAt + 5_000);
  expect(c.told("withdrawn")).toEqual([{ name: "n", token: 2, owner: "b" }]);
  const states = lockRecordsOf(c, "n");
  // The commit that withdraws is the one that grants, and no lock-delay comes in between.
  const withdrawing = states.find(({ ended }) => ended.some(({ how }) => how === "withdrawn"));
  expect(withdrawing?.grants).toMatchObject([{ owner: "c", token: 3 }]);
});

scenario("LS42 a waiter that slept through its grant queues anew [L23] [L25]", async (world) => {
  const own = new FakeClock({ monotonicMs: world.clock.monotonicMs() });
  const a = await world.client();
  const b = await world.client({ presenceLease: "1m" }, { clock: own });
  const c = await world.client();
  const d = await world.client();
  const held = await a.space.acquire("n");
  const sleeper = track(b.space.acquire("n", { wait: "2m", owner: "b" }));
  await world.clock.settle();
  const other = track(c.space.acquire("n", { wait: "2m", owner: "c" }));
  await world.clock.settle();
  const last = track(d.space.acquire("n", { wait: "2m", owner: "d" }));
  await world.clock.settle();
  // While B is stopped nothing of it runs: neither timers nor news from outside.
  b.engine.dropsHints = true;
  await held.release();
  const granted = (await world.record("n")) as LockRecord;
  expect(granted.grants).toMatchObject([{ owner: "b", state: "pending", token: 2 }]);
  await world.clock.advance(5_100);
  own.stall(5_100);
  expect(other.value().token).toBe(3);
  b.engine.dropsHints = false;
  await own.advance(0);
  expect(b.told("ticketLost")).toEqual([{ name: "n", how: "withdrawn" }]);
  expect(sleeper.state()).toBe("waiting");
  expect(await world.record("n")).toMatchObject({
    counter: 3,
    grants: [{ owner: "c", token: 3 }],
    queue: [
      { owner: "d", number: 3 },
      { owner: "b", number: 4 },
    ],
    ended: [{ how: "released" }, { how: "withdrawn", token: 2 }],
  });
  await other.value().release();
  await advanceTogether([world.clock, own], 200);
  expect(last.value().token).toBe(4);
  await last.value().release();
  await advanceTogether([world.clock, own], 1_100);
  expect(sleeper.value().token).toBe(5);
});

scenario("LS42 a confirmation at the pending end comes too late [L23]", async (world) => {
  const own = new FakeClock({ monotonicMs: world.clock.monotonicMs() });
  const a = await world.client();
  const b = await world.client({ presenceLease: "1m" }, { clock: own });
  const held = await a.space.acquire("n");
  const sleeper = track(b.space.acquire("n", { wait: "2m", owner: "b" }));
  await world.clock.settle();
  b.engine.dropsHints = true;
  await held.release();
  await world.clock.advance(5_000);
  own.stall(5_000);
  await own.advance(0);
  expect(b.told("ticketLost")).toEqual([{ name: "n", how: "withdrawn" }]);
  // The token of the withdrawn grant is burnt, and the waiter begins anew on a free lock.
  expect(sleeper.value().token).toBe(3);
  expect((await world.record("n"))?.ended).toMatchObject([{ token: 1 }, { token: 2 }]);
});

scenario("LS43 a waiter cut off past its presence queues anew [L21] [L25]", async (world) => {
  const [a, b, c] = (await clients(world, 3)) as [Client, Client, Client];
  const held = await a.space.acquire("n");
  const cut = track(b.space.acquire("n", { wait: "5m", owner: "b" }));
  await world.clock.settle();
  const behind = track(c.space.acquire("n", { wait: "5m", owner: "c" }));
  await world.clock.settle();
  b.engine.fault = () => ({ kind: "drop" });
  b.engine.dropsHints = true;
  await world.clock.advance(16_000);
  await held.release();
  await world.clock.advance(200);
  expect(behind.value().token).toBe(2);
  b.engine.fault = () => ({ kind: "pass" });
  b.engine.dropsHints = false;
  await world.clock.advance(2_000);
  expect(cut.state()).toBe("waiting");
  expect(b.told("ticketLost")).toHaveLength(1);
  behind.value().assertHeld();
  await behind.value().release();
  await world.clock.advance(1_100);
  expect(cut.value().token).toBe(3);
  expect(behind.value().state).toBe("released");
});

scenario(
  "a lease that is over before its call hears of it is not handed out [L25] [L49]",
  async (world) => {
    const a = await world.client();
    const late = { kind: "late-answer", ms: 900 } as const;
    a.engine.failNext(late);
    const lease = await within(world.clock, 5_000, a.space.acquire("n", { lease: 500 }));
    expect(lease.state).toBe("held");
    expect(lease.token).toBe(2);
    await lease.release();
    a.engine.failNext(late);
    const second = await within(world.clock, 5_000, a.space.tryAcquire("n", { lease: 500 }));
    expect(second?.state).toBe("held");
    expect(second?.token).toBe(4);
    // What was not handed out is given back, not left to its end.
    expect((await world.record("n"))?.grants.map(({ token }) => token)).toEqual([4]);
  },
);
