import { getEventListeners } from "node:events";

import { expect } from "vitest";

import { scenario, track, within, type Client } from "./world.ts";

/** Locks that are held by somebody, as another process would find them. */
async function heldNames(client: Client): Promise<readonly string[]> {
  const held: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.space.list({ limit: 1_000, cursor });
    for (const { name, state, depth } of page.locks) {
      if (state !== "free" || depth > 0) held.push(name);
    }
    cursor = page.next;
  } while (cursor !== undefined);
  return held;
}

/** How many leases a space holds when it closes, and how long that may take. */
const sizes: readonly { leases: number; withinMs: number }[] = [
  { leases: 3, withinMs: 1_000 },
  { leases: 10_000, withinMs: 10_000 },
];

for (const { leases, withinMs } of sizes) {
  scenario(`LS80 close frees ${leases} leases and leaves the queues [L119]`, async (world) => {
    const [holder, a] = [await world.client(), await world.client()];
    const [b, observer] = [await world.client(), await world.client()];
    await holder.space.acquire("busy");
    const held = await Promise.all(
      Array.from({ length: leases }, (_, i) => a.space.acquire(`lock/${i}`, { lease: "60s" })),
    );
    const waiters = [
      track(a.space.acquire("busy", { wait: "1m" })),
      track(a.space.acquire("busy", { wait: Infinity })),
    ];
    const next = track(b.space.acquire("lock/0", { wait: "1m" }));
    await world.clock.settle();
    expect((await world.record("busy"))?.queue).toHaveLength(2);
    expect(await world.keys("presence")).toHaveLength(2);
    const started = performance.now();
    await within(world.clock, withinMs, a.space.close({ grace: "10s" }));
    expect(performance.now() - started).toBeLessThan(10_000);
    await world.clock.settle();
    for (const waiter of waiters) expect(waiter.error()).toMatchObject({ code: "SPACE_CLOSED" });
    expect((await world.record("busy"))?.queue).toEqual([]);
    expect(await heldNames(observer)).toEqual(["busy", "lock/0"]);
    await world.clock.advance(200);
    expect(next.value().token).toBe(2); // Handed over by the release of the closing space.
    expect(held.every(({ state }) => state === "released")).toBe(true);
    expect(await world.keys("presence")).toHaveLength(1); // Its presence is gone.
    await expect(a.space.acquire("late")).rejects.toMatchObject({ code: "SPACE_CLOSED" });
    expect(a.told("error")).toEqual([]);
    await a.space.close();
  });
}

scenario("LS80 a plain exit leaves leases to their ends [L119] [L120]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const lease = await a.space.acquire("n", { lease: "60s" });
  const waiter = track(a.space.acquire("busy", { wait: 0 }));
  a.kill();
  await world.clock.advance(59_000);
  expect(await b.space.tryAcquire("n")).toBeNull();
  await world.clock.advance(1_000);
  expect((await b.space.tryAcquire("n"))?.token).toBe(lease.token + 1);
  expect(waiter.state()).not.toBe("waiting");
});

scenario("LS80 close gives up at the end of its grace [L119]", async (world) => {
  const a = await world.client();
  const lease = await a.space.acquire("n", { lease: "60s" });
  a.engine.fault = () => ({ kind: "hang" });
  const closing = track(a.space.close({ grace: "2s" }));
  await world.clock.advance(1_900);
  expect(closing.state()).toBe("waiting");
  await world.clock.advance(2_200);
  expect(closing.state()).toBe("resolved");
  expect((await world.record("n"))?.grants).toMatchObject([{ id: lease.leaseId }]);
  expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: "LEASE_LOST" }));
});

scenario("LS80 keepTickets leaves the tickets in their queues [L119]", async (world) => {
  const [holder, a] = [await world.client(), await world.client()];
  await holder.space.acquire("n");
  const waiting = track(a.space.acquire("n", { wait: "1m" }));
  await world.clock.settle();
  await within(world.clock, 1_000, a.space.close({ keepTickets: true }));
  expect(waiting.error()).toMatchObject({ code: "SPACE_CLOSED" });
  expect((await world.record("n"))?.queue).toHaveLength(1);
  const [presence] = await world.keys("presence");
  expect(await world.stored(presence ?? [])).toMatchObject({ actor: { host: "host-2" } });
});

/** What a script does, and how many timers keep its process alive after that. */
const scripts: readonly { what: string; run: (client: Client) => Promise<unknown> }[] = [
  {
    what: "released and closed",
    run: async ({ space }) => {
      await (await space.acquire("n")).release();
      await space.close();
    },
  },
  { what: "released", run: async ({ space }) => (await space.acquire("n")).release() },
  { what: "never released", run: ({ space }) => space.acquire("n") },
  {
    what: "never released, with a listener",
    run: async ({ space }) => (await space.acquire("n")).signal.addEventListener("abort", () => {}),
  },
  { what: "only opened", run: async () => undefined },
];

for (const { what, run } of scripts) {
  scenario(`LS81 a script that has ${what} ends at once [L120]`, async (world) => {
    const client = await world.client({ sweep: "1m" });
    const running = track(run(client));
    await world.clock.settle();
    expect(running.state()).toBe("resolved");
    expect(world.clock.referencedCount).toBe(0);
  });
}

scenario("LS81 a script that only waits runs until it is settled [L120]", async (world) => {
  const [holder, client] = [await world.client(), await world.client()];
  const held = await holder.space.acquire("n");
  await world.clock.settle();
  expect(world.clock.referencedCount).toBe(0);
  const waiting = track(client.space.acquire("n", { wait: "1m" }));
  await world.clock.settle();
  expect(world.clock.referencedCount).toBeGreaterThan(0);
  await world.clock.advance(20_000);
  expect(world.clock.referencedCount).toBeGreaterThan(0);
  await held.release();
  await world.clock.advance(200);
  expect(waiting.state()).toBe("resolved");
  expect(world.clock.referencedCount).toBe(0);
  const endless = track(client.space.acquire("held", { wait: Infinity }));
  await holder.space.tryAcquire("held");
  await world.clock.settle();
  expect(endless.state()).toBe("resolved");
  expect(world.clock.referencedCount).toBe(0);
});

scenario("LS81 an endless wait keeps the process, too [L120]", async (world) => {
  const [holder, client] = [await world.client(), await world.client()];
  await holder.space.acquire("n");
  const stop = new AbortController();
  const waiting = track(client.space.acquire("n", { wait: Infinity, signal: stop.signal }));
  await world.clock.advance(100_000);
  expect(waiting.state()).toBe("waiting");
  expect(world.clock.referencedCount).toBeGreaterThan(0);
  stop.abort();
  await world.clock.advance(1_000);
  expect(waiting.state()).toBe("rejected");
  expect(world.clock.referencedCount).toBe(0);
});

scenario("LS85 finished calls leave no timer and no listener [L122]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  // What the first wait sets up for good, the watch of its presence, is no leftover of a call.
  const first = await b.space.acquire("first");
  await within(
    world.clock,
    2_000,
    a.space.acquire("first", { wait: 1_000 }).catch(() => undefined),
  );
  await first.release();
  await world.clock.advance(1_000);
  const timers = world.clock.timerCount;
  const count = world.engine === "memory" ? 100_000 : 10_000;
  const perTurn = 1_000;
  const stop = new AbortController();
  for (let from = 0; from < count; from += perTurn) {
    const turn = Array.from({ length: perTurn }, (_, i) => useName(a, b, from + i, stop.signal));
    await within(world.clock, 5_000, Promise.all(turn));
  }
  await world.clock.advance(2_000);
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
  expect(world.clock.timerCount).toBeLessThanOrEqual(timers);
  expect(world.clock.referencedCount).toBe(0);
  expect(await b.space.list({ state: "held" })).toMatchObject({ locks: [] });
  const errors = [...a.told("error"), ...b.told("error")];
  expect(errors).toEqual([]);
});

/** Uses a name once; of a hundred, one times out under contention and one is aborted. */
async function useName(a: Client, b: Client, index: number, signal: AbortSignal): Promise<void> {
  const name = `name/${index}`;
  const lease = await a.space.acquire(name, { signal });
  if (index % 100 === 0) {
    await expect(b.space.acquire(name, { wait: 100, signal })).rejects.toMatchObject({
      code: "LOCK_WAIT_TIMEOUT",
    });
  }
  if (index % 100 === 1) {
    const abort = new AbortController();
    const waiting = b.space.acquire(name, { signal: abort.signal });
    setImmediate(() => abort.abort());
    await expect(waiting).rejects.toMatchObject({ code: "LOCK_ABORTED" });
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
  }
  await lease.release();
}
