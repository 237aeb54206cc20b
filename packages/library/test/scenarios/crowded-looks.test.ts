import { expect, test } from "vitest";

import { createMemoryStore, openMemory } from "../../src/engines/memory/index.ts";
import { open, openOn } from "../../src/open.ts";
import { systemClock } from "../../src/time/system-clock.ts";
import { scenario, track, within } from "./world.ts";

scenario(
  "a crowd of shared waiters is confirmed at once, none is withdrawn [L19] [L35] [I19]",
  async (world) => {
    const [holder, crowd] = [await world.client(), await world.client({ lookPeriod: "10s" })];
    const held = await holder.space.acquire("n", { lease: "5m", renew: "manual" });
    const options = { mode: "shared", wait: "5m", lease: "5m", renew: "manual" } as const;
    const calls = Array.from({ length: 500 }, () => crowd.space.acquire("n", options));
    await world.clock.advance(500);
    await held.release();
    const leases = await within(world.clock, 2_000, Promise.all(calls)); // L19
    expect(new Set(leases.map(({ token }) => token)).size).toBe(500);
    expect(crowd.told("ticketLost")).toEqual([]); // I19
    expect(holder.told("withdrawn")).toEqual([]);
  },
);

scenario(
  "a waiter whose first answer was lost keeps its place at the front [L15] [L35]",
  async (world) => {
    const [holder, crowd] = [await world.client(), await world.client()];
    const held = await holder.space.acquire("n", { lease: "5m", renew: "manual" });
    crowd.engine.failNext({ kind: "unknown-applied" });
    const first = track(crowd.space.acquire("n", { wait: "5m", owner: "first" }));
    await world.clock.settle();
    const others = Array.from({ length: 200 }, () =>
      track(crowd.space.acquire("n", { wait: "5m" })),
    );
    await world.clock.advance(1_000);
    expect((await world.record("n"))?.queue[0]?.owner).toBe("first");
    await held.release();
    await world.clock.advance(500);
    expect(first.value().token).toBe(held.token + 1); // L15: its place, not the tail.
    expect(crowd.told("ticketLost")).toEqual([]);
    expect(others.filter(({ state }) => state() === "resolved")).toHaveLength(0);
  },
);

scenario("LS171 the end of a lease is found among a long history [L39] [L111]", async (world) => {
  const [a, b] = [await world.client({ audit: "all" }), await world.client({ audit: "all" })];
  for (let i = 0; i < 600; i += 1) await (await b.space.acquire("n")).release();
  const lease = await a.space.acquire("n", { lease: "5m", renew: "manual" });
  await b.space.forceRelease("n", { reason: "stuck" });
  for (let i = 0; i < 5; i += 1) await (await b.space.acquire("n")).release();
  const forced = { code: "LEASE_LOST", reason: "forced", why: "stuck" };
  await expect(lease.renew()).rejects.toMatchObject(forced); // L39
});

function thrown(): never {
  throw new Error("thrown");
}

function rejected(): never {
  return Promise.reject(new Error("rejected")) as never;
}

test("an engine that was handed over is closed when its space cannot be opened [L119]", async () => {
  for (const bad of [null, { clock: {} }, { unknown: 1 }]) {
    let closes = 0;
    const inner = openMemory(createMemoryStore({ clock: systemClock }));
    const close = (): Promise<void> => {
      closes += 1;
      return inner.close();
    };
    const engine = { ...inner, capabilities: inner.capabilities, close } as never;
    await expect(openOn(engine, bad as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(closes).toBe(1);
  }
});

test("what the caller's function does with a refusal changes no answer [L50] [L115]", async () => {
  await using space = await open("memory:");
  const errors: unknown[] = [];
  space.on("error", (facts) => errors.push(facts));
  await space.acquire("n");
  expect(await space.tryAcquire("n", { refused: thrown })).toBeNull(); // L115
  expect(await space.tryClaim("n", "o", { refused: thrown })).toBe(false);
  expect(await space.tryAcquire("n", { refused: rejected })).toBeNull();
  await new Promise((resolve) => setImmediate(resolve));
  const told = { while: "telling of a refusal" };
  expect(errors).toMatchObject([told, told, { ...told, error: { message: "rejected" } }]); // L50
});

scenario("a damaged instant does not keep a call from settling [L118] [I18]", async (world) => {
  const { space } = await world.client();
  await space.acquire("n", { lease: "5m", renew: "manual" });
  const record = await world.record("n");
  const grants = record?.grants.map((grant) => ({ ...grant, grantedAt: 9e15 }));
  await world.put(["lock", "default", "n"], { ...record, grants } as never);
  const waiting = within(world.clock, 2_000, space.acquire("n", { wait: 100 }));
  await expect(waiting).rejects.toMatchObject({ code: "LOCK_WAIT_TIMEOUT" }); // I18
  expect((await space.why("n")).because).toHaveLength(1);
});
