import { expect } from "vitest";

import { FakeClock } from "../../src/time/fake-clock.ts";
import { advanceTogether } from "./settling.ts";
import { scenario, track, within, type World } from "./world.ts";

const hourMs = 3_600_000;

/** A clock of a client's own that shows what the world's shows now. */
function ownClock({ clock }: World): FakeClock {
  return new FakeClock({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() });
}

for (const stepMs of [60_000, -60_000]) {
  scenario(`LS88 a calendar set by ${stepMs} ms ends no wait [L29] [L53]`, async (world) => {
    const a = await world.client();
    const clock = ownClock(world);
    const b = await world.client({}, { clock });
    const held = await a.space.acquire("n");
    const startMs = clock.monotonicMs();
    const waiting = track(b.space.acquire("n", { wait: "5s" }));
    await advanceTogether([world.clock, clock], 1_000);
    clock.setWall(clock.wallMs() + stepMs);
    await advanceTogether([world.clock, clock], 3_900);
    expect(waiting.state()).toBe("waiting");
    await advanceTogether([world.clock, clock], 400);
    expect(waiting.error()).toMatchObject({
      code: "LOCK_WAIT_TIMEOUT",
      denial: { holders: [{ owner: held.owner }] },
    });
    const { waitedMs } = waiting.error() as { readonly waitedMs: number };
    expect(Math.abs(waitedMs - 5_000)).toBeLessThanOrEqual(300); // L29: on the monotonic clock.
    expect(clock.monotonicMs() - startMs).toBeLessThanOrEqual(5_300);
    held.assertHeld();
  });
}

scenario("LS89 the record says when a lease ends, not the contender [L54]", async (world) => {
  const a = await world.client();
  const b = await world.client({ lease: "2s", leaseMax: "2s", presenceLease: "3s" });
  const held = await a.space.acquire("n", { lease: "60s" });
  await world.clock.advance(25_000);
  a.kill();
  const end = (await world.record("n"))?.grants[0]?.expiresAt ?? 0;
  const lastRenewal = end - 60_000;
  expect(lastRenewal).toBeGreaterThan(held.grantedAt);
  const waiting = track(b.space.acquire("n", { wait: "5m" }));
  await world.clock.advance(end - 1 - (await world.now()));
  expect(waiting.state()).toBe("waiting");
  await world.clock.advance(1_000);
  expect(waiting.value()).toMatchObject({ token: 2, leaseMs: 2_000 });
  const waitedMs = waiting.value().grantedAt - lastRenewal;
  expect(waitedMs).toBeGreaterThanOrEqual(60_000);
  expect(waitedMs).toBeLessThanOrEqual(61_000);
});

scenario(
  "LS90 engine time steps back while A lives: it keeps its lease [L55] [L58]",
  async (world) => {
    const [a, b] = [await world.client(), await world.client()];
    const held = await a.space.acquire("n");
    const waiting = track(b.space.acquire("n", { wait: "1h" }));
    await world.clock.advance(5_000);
    world.stepEngine(-hourMs);
    await world.clock.advance(120_000);
    held.assertHeld();
    expect(held.token).toBe(1);
    expect(waiting.state()).toBe("waiting");
    const now = await world.now();
    // L55
    expect((await world.record("n"))?.grants[0]?.expiresAt).toBeLessThanOrEqual(now + 30_000);
    expect(held.expiresAt).toBeGreaterThan(now);
    for (const client of [a, b]) {
      expect(client.told("clockStep")).toHaveLength(1); // L58: told by each that sees it.
      const [step] = client.told("clockStep") as readonly { readonly stepMs: number }[];
      expect(Math.abs((step?.stepMs ?? 0) + hourMs)).toBeLessThan(1_000);
    }
    expect(await held.release()).toBe(true);
    await world.clock.advance(200);
    expect(waiting.value().token).toBe(2); // L58: tokens stay correct.
  },
);

scenario(
  "LS90 engine time steps back while A is dead: its grant ends [L55] [L58]",
  async (world) => {
    const [a, b] = [await world.client(), await world.client()];
    await a.space.acquire("n");
    const waiting = track(b.space.acquire("n", { wait: "2h" }));
    await world.clock.advance(3_000);
    a.kill();
    world.stepEngine(-hourMs);
    await world.clock.advance(1_100); // The next look sets the end to now + span.
    const looked = await world.now();
    const end = (await world.record("n"))?.grants[0]?.expiresAt ?? 0;
    expect(end - looked).toBeLessThanOrEqual(30_000);
    expect(end - looked).toBeGreaterThan(28_000);
    await world.clock.advance(31_000);
    expect(waiting.value().token).toBe(2);
  },
);

scenario("LS91 engine time steps forward: A is lost at its next contact [L58]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const held = await a.space.acquire("n");
  const { signal } = held;
  const waiting = track(b.space.acquire("n", { wait: "10m" }));
  await world.clock.advance(1_500);
  world.stepEngine(hourMs);
  await world.clock.advance(1_500);
  expect(waiting.value().token).toBe(2); // The guard at a resource refuses token 1 from now on.
  await world.clock.advance(10_000);
  expect(held.state).toBe("lost");
  expect(signal.reason).toMatchObject({ code: "LEASE_LOST", reason: "expired", token: 1 });
  expect(a.told("lost")).toEqual([{ name: "n", token: 1, reason: "expired" }]);
  for (const client of [a, b]) {
    const [step] = client.told("clockStep") as readonly { readonly stepMs: number }[];
    expect(Math.abs((step?.stepMs ?? 0) - hourMs)).toBeLessThan(1_000);
  }
});

scenario("LS91 a forward step ends a ticket early: it queues again [L25] [L58]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const held = await a.space.acquire("n", { lease: "5m" });
  const waiting = track(b.space.acquire("n", { wait: "30m" }));
  await world.clock.advance(1_500);
  world.stepEngine(2 * hourMs);
  await world.put(["lock", "default", "n"], await extended(world));
  await held.release(); // Its commit passes over the ticket, which has given up by engine time.
  await world.clock.advance(1_100);
  expect(waiting.value().token).toBe(2);
  expect(b.told("ticketLost")).toEqual([{ name: "n", how: "unknown" }]);
});

/** The record of `n` with its grant alive in spite of a step. */
async function extended(world: World): Promise<never> {
  const record = await world.record("n");
  const expiresAt = (await world.now()) + 300_000;
  const grants = record?.grants.map((grant) => ({ ...grant, expiresAt }));
  return { ...record, grants } as never;
}

/** A client whose monotonic clock is off by the declared drift, and the length of its lease. */
const drifts: readonly { rate: number; lease: string; kind: "claim" | "lease" }[] = [
  { rate: 1 - 500e-6, lease: "24h", kind: "claim" },
  { rate: 1 + 500e-6, lease: "24h", kind: "claim" },
  { rate: 1 - 500e-6, lease: "1s", kind: "lease" },
  { rate: 1 + 500e-6, lease: "1s", kind: "lease" },
];

for (const { rate, lease, kind } of drifts) {
  const title = `LS92 a clock at ${rate} ends a ${kind} of ${lease} before the engine does [L56]`;
  scenario(title, async (world) => {
    const clock = ownClock(world);
    const { space } = await world.client({}, { clock });
    if (kind === "claim") await space.tryClaim("n", "me", { lease });
    const held =
      kind === "claim"
        ? await space.resume("n", "me", { renew: "manual" })
        : await space.acquire("n", { lease, renew: "manual" });
    const lengthMs = held?.leaseMs ?? 0;
    const lastMs = lengthMs - 1;
    world.clock.stall(lastMs);
    clock.stall(lastMs * rate);
    expect(await world.now()).toBe((held?.expiresAt ?? 0) - 1);
    expect(held?.state).toBe("lost"); // L56: it knows before anyone else can be granted.
    expect(await space.tryAcquire("n")).toBeNull();
  });
}

scenario("LS92 the deadline leaves most of the lease to its holder [L56]", async (world) => {
  const clock = ownClock(world);
  const { space } = await world.client({}, { clock });
  const held = await space.acquire("n", { lease: "1s", renew: "manual" });
  world.clock.stall(890);
  clock.stall(890 * (1 + 500e-6));
  held.assertHeld();
});

scenario("LS94 a host that slept cannot vouch for its lease: lost [L60]", async (world) => {
  const clock = ownClock(world);
  const a = await world.client({}, { clock });
  const b = await world.client();
  const held = await a.space.acquire("n");
  const { signal } = held;
  clock.setWall(clock.wallMs() + 60_000); // The monotonic clock stood still.
  world.clock.stall(60_000);
  expect((await b.space.tryAcquire("n"))?.token).toBe(2);
  a.engine.failNext({ kind: "delay", ms: 500 });
  expect(() => held.assertHeld()).toThrow(
    expect.objectContaining({ code: "LEASE_UNVERIFIED", retry: "later", token: 1, gapMs: 60_000 }),
  );
  expect(held.state).toBe("unverified");
  expect(a.told("unverified")).toEqual([{ name: "n", token: 1, gapMs: 60_000 }]);
  await advanceTogether([world.clock, clock], 1_000);
  expect(held.state).toBe("lost");
  expect(signal.reason).toMatchObject({ code: "LEASE_LOST", reason: "expired" });
  expect(() => held.assertHeld()).toThrow(expect.objectContaining({ code: "LEASE_LOST" }));
});

scenario("LS94 a host that slept shorter than its lease holds it still [L60]", async (world) => {
  const clock = ownClock(world);
  const a = await world.client({}, { clock });
  const held = await a.space.acquire("n", { lease: "5m" });
  clock.setWall(clock.wallMs() + 60_000);
  world.clock.stall(60_000);
  expect(held.state).toBe("unverified");
  await within(clock, 1_000, Promise.resolve());
  await advanceTogether([world.clock, clock], 100);
  held.assertHeld(); // The answer to the renewal that was sent at once.
  expect(held.expiresAt).toBe((await world.record("n"))?.grants[0]?.expiresAt);
  expect(held.expiresAt - (await world.now())).toBeGreaterThan(299_000);
});

scenario("LS94 a calendar set an hour ahead loses nothing early [L53] [L60]", async (world) => {
  const clock = ownClock(world);
  const a = await world.client({}, { clock });
  const b = await world.client();
  const held = await a.space.acquire("n");
  const { signal } = held;
  await advanceTogether([world.clock, clock], 5_000);
  clock.setWall(clock.wallMs() + hourMs);
  a.engine.failNext({ kind: "delay", ms: 1_000 });
  expect(() => held.assertHeld()).toThrow(expect.objectContaining({ code: "LEASE_UNVERIFIED" }));
  expect(await b.space.tryAcquire("n")).toBeNull(); // L53: the engine judges by its own time.
  await advanceTogether([world.clock, clock], 2_000);
  held.assertHeld();
  await advanceTogether([world.clock, clock], 60_000, 100);
  held.assertHeld(); // Renewed ever since.
  expect(signal.aborted).toBe(false);
  expect(a.told("unverified")).toHaveLength(1);
  expect(a.told("lost")).toEqual([]);
});

scenario("a manual lease in doubt is asked about until the engine answers [L60]", async (world) => {
  const clock = new FakeClock({ wallMs: world.clock.wallMs() });
  const { space, engine } = await world.client({}, { clock });
  const lease = await space.acquire("n", { renew: "manual" });
  engine.failNext({ kind: "drop" }, 2);
  clock.setWall(clock.wallMs() + 3_600_000);
  expect(lease.state).toBe("unverified");
  const end = lease.expiresAt;
  await clock.advance(5_000);
  expect(lease.state).toBe("held");
  // It was asked about, not renewed.
  expect(lease.expiresAt).toBe(end);
});
