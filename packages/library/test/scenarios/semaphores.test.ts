import { expect } from "vitest";

import { scenario, track } from "./world.ts";

scenario("LS147 permits are served in order, large requests included [L105]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const of = (client: typeof a) => client.space.semaphore("s", { limit: 3 });
  const first = await of(a).acquire();
  const second = await of(b).acquire();
  expect([first.slots, second.slots]).toEqual([[0], [1]]);
  const third = track(of(a).acquire({ permits: 2 }));
  await world.clock.settle();
  const fourth = track(of(b).acquire());
  await world.clock.advance(2_000);
  expect([third.state(), fourth.state()]).toEqual(["waiting", "waiting"]); // L105: nobody passes.
  expect(await of(b).tryAcquire()).toBeNull();
  await first.release();
  await world.clock.advance(200);
  expect(third.value().slots).toEqual([0, 2]); // L105: the lowest free numbers.
  expect(fourth.state()).toBe("waiting");
  await third.value().release();
  await world.clock.advance(200);
  expect(fourth.value().slots).toEqual([0]);
  expect(fourth.value().token).toBeGreaterThan(third.value().token);
  const status = await of(a).status();
  expect(status).toMatchObject({ limit: 3, depth: 0, holders: [{ permits: 1 }, { permits: 1 }] });
  expect(await a.space.tryAcquire("s")).not.toBeNull(); // A lock of that name is another matter.
});

scenario("LS148 the limit is agreed on, and resized without taking away [L106]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const semaphore = a.space.semaphore("s", { limit: 3 });
  const held = [await semaphore.acquire(), await semaphore.acquire(), await semaphore.acquire()];
  const other = b.space.semaphore("s", { limit: 5 });
  const mismatch = { code: "LIMIT_MISMATCH", recorded: 3, asked: 5 };
  await expect(other.acquire()).rejects.toMatchObject(mismatch); // L106
  await expect(other.tryAcquire()).rejects.toMatchObject(mismatch);
  const small = await semaphore.resize(1, { reason: "less" });
  expect(small.limit).toBe(1);
  expect((await small.status()).holders).toHaveLength(3); // L106: none is taken away.
  const next = track(b.space.semaphore("s", { limit: 1 }).acquire());
  for (const lease of held.slice(0, 2)) await lease.release();
  await world.clock.advance(1_000);
  expect(next.state()).toBe("waiting");
  await held[2]?.release();
  await world.clock.advance(200);
  await next.value().release();
  expect((await other.acquire()).slots).toEqual([0]); // Nobody held: another limit is taken over.
});

scenario("LS173 a request that can never be served is refused [L105]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const calls = a.engine.calls;
  const two = a.space.semaphore("s", { limit: 2 });
  const tooMany = { code: "INVALID_ARGUMENT", parameter: "permits" };
  await expect(two.acquire({ permits: 3 })).rejects.toMatchObject(tooMany);
  expect(a.engine.calls).toBe(calls); // L105: before any traffic.
  const three = a.space.semaphore("t", { limit: 3 });
  const held = await three.acquire();
  const large = track(b.space.semaphore("t", { limit: 3 }).acquire({ permits: 3 }));
  await world.clock.settle();
  const small = track(b.space.semaphore("t", { limit: 3 }).acquire());
  await world.clock.settle();
  await three.resize(2, { reason: "less" });
  await world.clock.advance(4_000);
  const mismatch = { code: "LIMIT_MISMATCH", recorded: 2, asked: 3 };
  expect(large.error()).toMatchObject(mismatch); // L105
  expect(small.state()).toBe("resolved");
  await held.release();
});

scenario("a semaphore's leases lapse, are forced and audited like others [L105]", async (world) => {
  const [a, b] = [await world.client({ audit: "all" }), await world.client({ audit: "all" })];
  const semaphore = a.space.semaphore("s", { limit: 1 });
  await semaphore.acquire({ lease: "1s", renew: "manual", owner: "A" });
  await world.clock.advance(1_000);
  const other = b.space.semaphore("s", { limit: 1 });
  const lease = await other.acquire({ owner: "B" });
  expect(lease.slots).toEqual([0]);
  expect(b.told("reclaimed")).toEqual([{ name: "s", token: 1, owner: "A" }]);
  const forced = await semaphore.forceRelease({ reason: "stuck" });
  expect(forced.ended).toEqual([{ token: 2, owner: "B" }]);
  const kinds: string[] = [];
  for await (const entry of semaphore.history()) kinds.push(entry.kind);
  expect(kinds).toEqual(["granted", "reclaimed", "granted", "forced"]);
  await semaphore.resize(2, { reason: "more" });
  expect((await semaphore.why()).because).toEqual([]);
});
