import { expect } from "vitest";

import { storedGrant, storedLock } from "./records.ts";
import { scenario, within, type Client } from "./world.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** All stored records of the namespace but those of the audit. */
async function recordCount(engine: Client["engine"]): Promise<number> {
  let count = 0;
  for (const part of ["lock", "queue", "presence"]) {
    let after: string | undefined;
    do {
      const page = await engine.scan([part, "default"], { limit: 1_000, after }, {});
      count += page.records.length;
      after = page.next;
    } while (after !== undefined);
  }
  return count;
}

/** Every tenth name is contended, and every tenth abandoned by its holder. */
const isContended = (index: number): boolean => index % 10 === 1;
const isAbandoned = (index: number): boolean => index % 10 === 2;

scenario("LS104 names used once leave nothing behind [L123]", async (world) => {
  const [keeper, user, dying] = [await world.client(), await world.client(), await world.client()];
  const names = Array.from({ length: 1_000 }, (_, index) => `once/${index}`);
  const kept = await Promise.all(
    Array.from({ length: 100 }, (_, index) => keeper.space.acquire(`active/${index}`)),
  );
  const claim = await keeper.space.claim("active/claim", "me", { lease: "2h" });
  const before = await recordCount(keeper.engine);
  expect(before).toBe(101);
  const uses = Promise.all(
    names.map(async (name, index) => {
      const client = isAbandoned(index) ? dying : user;
      const lease = await client.space.acquire(name, { lease: "30s", renew: "manual" });
      if (isAbandoned(index)) return;
      const waiting = isContended(index) ? dying.space.acquire(name) : undefined;
      await lease.release();
      await (await waiting)?.release();
    }),
  );
  await within(world.clock, 30_000, uses);
  dying.kill();
  expect(await recordCount(keeper.engine)).toBeGreaterThan(1_100);
  await world.clock.advance(11 * minuteMs);
  const counts = await keeper.space.sweep();
  expect(counts).toMatchObject({ locks: 1_000 });
  const after = await recordCount(keeper.engine);
  expect(Math.abs(after - before)).toBeLessThanOrEqual(before / 100); // Within 1 % of the start.
  for (const lease of kept) lease.assertHeld();
  expect((await world.record("active/claim"))?.grants).toMatchObject([{ token: claim.token }]);
  expect(keeper.told("reclaimed")).toHaveLength(100); // The abandoned ones, each once.
  expect(await world.keys("audit")).toHaveLength(100);
  await keeper.space.releaseClaim("active/claim", "me");
  await keeper.space.close();
  world.clock.stall(31 * dayMs);
  expect(await user.space.sweep()).toMatchObject({ audits: 100 });
  expect(await world.keys("audit")).toEqual([]);
});

scenario("LS104 one process at a time sweeps by itself [L123]", async (world) => {
  const [a, b] = [
    await world.client({ sweep: "1m", retention: "1m" }),
    await world.client({ sweep: "1m", retention: "1m" }),
  ];
  await (await a.space.acquire("n")).release();
  const held = await a.space.acquire("held");
  await world.clock.advance(50_000);
  expect(await world.keys("lock")).toHaveLength(2);
  await world.clock.advance(100_000);
  expect(await world.keys("lock")).toEqual([["lock", "default", "held"]]);
  held.assertHeld();
  const turns = [a, b].map(
    ({ engine }) =>
      engine.commits.filter(({ writes }) => writes.some(({ key }) => key[2] === "sweep")).length,
  );
  // 150 s and a period of 1 min: two or three turns, whoever takes them.
  expect((turns[0] ?? 0) + (turns[1] ?? 0)).toBeLessThanOrEqual(3);
});

scenario("LS105 tokens go on above a swept counter [L61] [L63]", async (world) => {
  const { space } = await world.client();
  const now = await world.now();
  await world.put(
    ["lock", "default", "old"],
    storedLock({ counter: 40, touchedAt: now - hourMs, nextTicket: 9 }),
  );
  expect((await space.sweep()).locks).toBe(1);
  expect(await world.record("old")).toBeUndefined();
  expect(await world.stored(["floor", "default"])).toEqual({ v: 1, floor: 40 });
  expect((await space.acquire("old")).token).toBe(41);
  expect((await space.acquire("new")).token).toBe(41);
});

scenario("LS106 a sweep and an acquire at once [L63] [L123] [L61]", async (world) => {
  const [sweeper, user] = [await world.client(), await world.client()];
  const wins = { acquire: 0, sweep: 0 };
  let last = 0;
  let counter = 0;
  // A commit to a file costs more; real processes race there as well.
  const rounds = world.engine === "memory" ? 1_000 : 200;
  for (let round = 0; round < rounds; round += 1) {
    const now = await world.now();
    counter += 1;
    const before = storedLock({ counter, touchedAt: now - hourMs });
    await world.put(["lock", "default", "n"], before);
    const sweep = sweeper.space.sweep();
    // The acquire comes a little later in every round, until the sweep wins.
    for (let turn = 0; turn < round % 40; turn += 1) await Promise.resolve();
    if (round % 40 > 30) await world.clock.settle();
    const lease = await user.space.acquire("n");
    wins[(await sweep).locks === 0 ? "acquire" : "sweep"] += 1;
    expect(lease.token).toBeGreaterThan(Math.max(last, counter)); // No token is repeated.
    expect((await world.record("n"))?.grants).toMatchObject([{ id: lease.leaseId }]);
    lease.assertHeld();
    last = lease.token;
    counter = last;
    await lease.release();
  }
  expect(wins.acquire).toBeGreaterThan(rounds / 20);
  expect(wins.sweep).toBeGreaterThan(rounds / 20);
});

scenario("LS107 a record deleted from outside is found out [L64]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  for (let i = 0; i < 2; i += 1) await (await a.space.acquire("n")).release();
  const lease = await a.space.acquire("n");
  expect(lease.token).toBe(3);
  const { signal } = lease;
  await world.put(["lock", "default", "n"], null);
  const other = await b.space.acquire("n", { lease: "5s" });
  expect(other.token).toBe(1); // What an eviction costs until its victim renews.
  await world.clock.advance(10_100); // A renewal period of A.
  expect(lease.state).toBe("lost");
  expect(signal.reason).toMatchObject({ code: "LEASE_LOST", reason: "missing", token: 3 });
  expect(a.told("rewind")).toEqual([{ name: "n", token: 3 }]);
  expect((await world.record("n"))?.counter).toBe(3); // L64: raised to A's token.
  other.assertHeld();
  await other.release();
  expect((await b.space.acquire("n")).token).toBe(4);
  const raised = [];
  for await (const entry of a.space.history({ name: "n" })) raised.push(entry);
  expect(raised).toMatchObject([{ kind: "raised", token: 3 }]);
});

scenario("LS107 a record that stays deleted is remade with its counter [L64]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  await (await a.space.acquire("n")).release();
  const lease = await a.space.acquire("n");
  await world.put(["lock", "default", "n"], null);
  await world.clock.advance(10_100);
  expect(lease.state).toBe("lost");
  expect(await lease.release()).toBe(false);
  expect((await world.record("n"))?.counter).toBe(2);
  expect((await b.space.acquire("n")).token).toBe(3);
});

scenario("LS107 no lock record dies by itself [L64]", async (world) => {
  const { space } = await world.client();
  await space.acquire("n", { renew: "manual" });
  const before = await world.record("n");
  world.clock.stall(400 * dayMs);
  expect(await world.record("n")).toEqual(before);
});

scenario("LS108 raiseFloor after a restored backup [L65]", async (world) => {
  const { space } = await world.client();
  for (let i = 0; i < 3; i += 1) await (await space.acquire("n")).release();
  const backup = await world.stored(["lock", "default", "n"]);
  const handedOut: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    for (const name of ["n", "born-later"]) {
      const lease = await space.acquire(name);
      handedOut.push(lease.token);
      await lease.release();
    }
  }
  const highest = Math.max(...handedOut);
  await world.put(["lock", "default", "n"], backup ?? null);
  await world.put(["lock", "default", "born-later"], null);
  expect(await space.raiseFloor({ to: highest, reason: "restored" })).toBe(highest);
  expect((await world.record("n"))?.counter).toBe(highest); // Every existing counter, too.
  for (const name of ["n", "born-later", "never-seen"]) {
    expect((await space.acquire(name)).token).toBe(highest + 1);
  }
  expect(await space.raiseFloor({ to: 1, reason: "too low" })).toBe(highest); // Never lowered.
  const raised = [];
  for await (const entry of space.history({ kinds: ["raised"] })) raised.push(entry);
  expect(raised).toMatchObject([{ name: "n", token: highest }]);
});

scenario("LS109 a claim that lapsed an hour ago outlives the sweep [L90] [L123]", async (world) => {
  const { space } = await world.client();
  const now = await world.now();
  await space.tryClaim("claimed", "me", { lease: "1s" });
  await space.acquire("leased", { lease: "1s", renew: "manual" });
  world.clock.stall(hourMs);
  expect(await space.sweep()).toMatchObject({ locks: 1 });
  expect(await world.record("leased")).toBeUndefined();
  expect((await world.record("claimed"))?.grants).toMatchObject([{ grantedAt: now }]);
  expect(await space.resume("claimed", "me")).toMatchObject({ token: 2, leaseMs: 1_000 });
});

scenario("LS109 a lapsed claim is swept after a day [L123]", async (world) => {
  const { space } = await world.client();
  const now = await world.now();
  const claim = storedGrant(now, { kind: "claim", owner: "me", expiresAt: now - dayMs });
  await world.put(
    ["lock", "default", "n"],
    storedLock({ counter: 1, grants: [claim], touchedAt: now - dayMs - hourMs }),
  );
  expect(await space.sweep()).toMatchObject({ locks: 1 });
  expect(await space.resume("n", "me")).toBeNull();
});
