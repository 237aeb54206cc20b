import { expect } from "vitest";

import { scenario, track, within } from "./world.ts";

scenario("LS1 an untouched name is free and leaves no record [L107]", async (world) => {
  const { space } = await world.client();
  const status = await space.status("n");
  expect(status).toMatchObject({ state: "free", token: 0, depth: 0, authoritative: false });
  expect(await world.record("n")).toBeUndefined();
});

scenario("LS2 a free lock is granted in one commit [L8] [L9] [L61]", async (world) => {
  const { space, engine, told } = await world.client();
  const now = await world.now();
  const before = engine.commits.length;
  const lease = await space.acquire("n");
  expect(lease.token).toBe(1);
  expect(lease.expiresAt).toBe(now + 30_000);
  expect(engine.commits.length - before).toBe(1);
  expect(told("acquired")).toEqual([{ name: "n", token: 1, waitedMs: 0 }]);
});

scenario(
  "LS4 a try is refused with the denial, and never queues [L10] [L11] [L28]",
  async (world) => {
    const a = await world.client();
    const b = await world.client();
    const held = await a.space.acquire("n");
    let denial: unknown;
    expect(await b.space.tryAcquire("n", { refused: (facts) => (denial = facts) })).toBeNull();
    expect(denial).toMatchObject({
      reason: "held",
      depth: 0,
      position: null,
      until: held.expiresAt,
      holders: [{ owner: held.owner, token: 1 }],
    });
    await expect(b.space.acquire("n", { wait: 0 })).rejects.toMatchObject({
      code: "LOCK_WAIT_TIMEOUT",
      retry: "later",
      denial: { until: held.expiresAt },
    });
    expect((await world.record("n"))?.queue).toEqual([]);
    held.assertHeld();
  },
);

scenario("LS21 waiters are granted in their order [L17] [L18] [L20]", async (world) => {
  const [a, b, c] = [await world.client(), await world.client(), await world.client()];
  const held = await a.space.acquire("n");
  const second = track(b.space.acquire("n", { wait: "1m" }));
  await world.clock.settle();
  const third = track(c.space.acquire("n", { wait: "1m" }));
  await world.clock.settle();
  expect(await held.release()).toBe(true);
  await world.clock.advance(200);
  expect(second.state()).toBe("resolved");
  expect(second.value().token).toBe(2);
  expect(third.state()).toBe("waiting");
  await within(world.clock, 200, second.value().release());
  await world.clock.advance(200);
  expect(third.value().token).toBe(3);
});
