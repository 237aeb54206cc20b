import { expect } from "vitest";

import { scenario, track, type Client, type World } from "./world.ts";

const lockDelay = "2s";

/** A holder with a lock-delay, and a waiter behind it. */
async function held(world: World) {
  const [a, b] = [await world.client(), await world.client()];
  const lease = await a.space.acquire("n", { lease: "5s", lockDelay, renew: "manual" });
  const waiting = track(b.space.acquire("n", { wait: "1m" }));
  await world.clock.advance(1_000);
  return { a, b, lease, waiting };
}

async function until(world: World, instant: number): Promise<void> {
  await world.clock.advance(instant - (await world.now()));
}

scenario("LS93 a killed holder keeps others out for its delay [L57]", async (world) => {
  const { a, b, lease, waiting } = await held(world);
  a.kill();
  await until(world, lease.expiresAt + 500);
  let denial: unknown;
  expect(await b.space.tryAcquire("n", { refused: (facts) => (denial = facts) })).toBeNull();
  expect(denial).toMatchObject({ reason: "delayed", until: lease.expiresAt + 2_000 });
  expect(await world.status("n")).toMatchObject({ state: "delayed", token: 0 });
  await until(world, lease.expiresAt + 1_999);
  expect(waiting.state()).toBe("waiting");
  await until(world, lease.expiresAt + 3_000);
  expect(waiting.value().token).toBe(2);
  expect(waiting.value().grantedAt).toBeGreaterThanOrEqual(lease.expiresAt + 2_000);
});

scenario("LS93 a release has no delay [L57]", async (world) => {
  const { lease, waiting } = await held(world);
  expect(await lease.release()).toBe(true);
  await world.clock.advance(200);
  expect(waiting.value().token).toBe(2);
});

scenario("LS93 a withdrawal has no delay [L24] [L57]", async (world) => {
  const [a, b, c] = [await world.client(), await world.client(), await world.client()];
  const first = await a.space.acquire("n");
  const dying = track(b.space.acquire("n", { wait: "1m", lockDelay }));
  await world.clock.settle();
  const next = track(c.space.acquire("n", { wait: "1m" }));
  await world.clock.settle();
  b.kill();
  await first.release();
  const pending = (await world.record("n"))?.grants[0];
  expect(pending).toMatchObject({ state: "pending", token: 2, lockDelayMs: 2_000 });
  await until(world, pending?.expiresAt ?? 0);
  await world.clock.advance(100);
  expect(next.value().token).toBe(3); // L57: no sooner, and not 2 s later.
  expect(dying.state()).toBe("waiting");
  expect(c.told("withdrawn")).toMatchObject([{ name: "n", token: 2 }]);
});

scenario("LS93 a forced end has the delay, unless it is waived [L57]", async (world) => {
  const { b, waiting } = await held(world);
  const forcedAt = await world.now();
  const reason = "stuck";
  expect((await b.space.forceRelease("n", { reason })).ended).toMatchObject([{ token: 1 }]);
  await until(world, forcedAt + 1_999);
  expect(waiting.state()).toBe("waiting");
  await until(world, forcedAt + 3_000);
  expect(waiting.value().grantedAt).toBeGreaterThanOrEqual(forcedAt + 2_000);
  expect(waiting.value().token).toBe(2);
});

scenario("LS93 a forced end without its delay is handed over at once [L57]", async (world) => {
  const { b, waiting } = await held(world);
  await b.space.forceRelease("n", { reason: "stuck", noDelay: true });
  await world.clock.advance(200);
  expect(waiting.value().token).toBe(2);
});

/** Who waits when the lapsed holder releases at last. */
const waits: readonly { who: string; wait: (client: Client) => Promise<unknown> }[] = [
  { who: "a waiter", wait: (client) => client.space.acquire("n", { wait: "1m" }) },
  { who: "nobody", wait: async () => undefined },
];

for (const { who, wait } of waits) {
  scenario(`LS93 a release after the lapse ends the delay of ${who} [L47]`, async (world) => {
    const [a, b] = [await world.client(), await world.client()];
    const lease = await a.space.acquire("n", { lease: "1s", lockDelay: "30s", renew: "manual" });
    const waiting = track(wait(b));
    await world.clock.advance(1_500);
    expect(await b.space.tryAcquire("n")).toBeNull();
    expect(await lease.release()).toBe(false); // L47
    await world.clock.advance(200);
    if (who === "nobody") expect((await b.space.tryAcquire("n"))?.token).toBe(2);
    else expect(waiting.value()).toMatchObject({ token: 2 });
    expect(a.told("reclaimed")).toMatchObject([{ token: 1 }]);
    expect(a.told("released")).toEqual([]);
  });
}
