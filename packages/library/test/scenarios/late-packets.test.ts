import { expect } from "vitest";

import { isNeeds, type Decision, type Snapshot } from "../../src/core/decision.ts";
import { decideAcquire } from "../../src/core/lock/acquire.ts";
import { type AcquireCommand } from "../../src/core/lock/acquire-command.ts";
import type { AcquireResult } from "../../src/core/lock/acquire.ts";
import { decideCancel } from "../../src/core/lock/cancel.ts";
import type { Outcome } from "../../src/core/lock/outcome.ts";
import { lockKey } from "../../src/core/lock/keys.ts";
import { rejection } from "./settling.ts";
import { scenario, track, within, type Client } from "./world.ts";

const key = lockKey("default", "n");

scenario("LS161 the packet of an acquire comes after the sweep [L63] [L128]", async (world) => {
  const a = await world.client({ callTimeout: "200ms" });
  const other = await world.client();
  await world.put(["floor", "default"], { v: 1, floor: 7 });
  const dayMs = 86_400_000;
  const first = a.engine.calls;
  const untilMs = world.clock.monotonicMs() + 300;
  a.engine.fault = ({ serial }) => {
    if (serial === first) return { kind: "late-packet", ms: dayMs };
    return { kind: world.clock.monotonicMs() < untilMs ? "drop" : "pass" };
  };
  expect(await within(world.clock, 1_000, rejection(a.space.tryAcquire("n")))).toMatchObject({
    code: "ENGINE_UNAVAILABLE",
    outcome: "unknown",
  });
  await world.clock.advance(2_000);
  expect((await world.record("n"))?.ended).toMatchObject([{ how: "cancelled" }]);
  world.clock.stall(700_000);
  expect((await other.space.sweep()).locks).toBe(1);
  expect(await world.record("n")).toBeUndefined();
  await world.clock.advance(dayMs);
  expect(a.engine.arrivals).toEqual(["refused"]); // L63: the floor was written anew.
  expect(await world.record("n")).toBeUndefined();
  expect(await world.stored(["floor", "default"])).toEqual({ v: 1, floor: 7 });
});

scenario("LS163 an extend defeats an earlier renewal on its way [L42] [L128]", async (world) => {
  const { space, engine } = await world.client({ callTimeout: "100ms" });
  const lease = await space.acquire("n", { lease: "30s", renew: "manual" });
  const end = lease.expiresAt;
  const first = engine.calls;
  engine.fault = ({ serial }) =>
    serial === first ? { kind: "late-packet", ms: 1_000 } : { kind: "drop" };
  // The renewal is of unknown outcome and given up, so the extend finds the end unchanged.
  const renewing = track(lease.renew("2s"));
  await world.clock.advance(100);
  engine.fault = () => ({ kind: "pass" });
  expect(renewing.error()).toMatchObject({ code: "ENGINE_UNAVAILABLE" });
  expect(lease.remainingMs()).toBeLessThan(2_000); // L42: the earlier deadline counts.
  const commits = engine.commits.length;
  await lease.extend("10s");
  expect(engine.commits.length).toBe(commits + 1); // L128: it writes although the end stays.
  expect(lease.expiresAt).toBe(end);
  expect(lease.remainingMs()).toBeGreaterThan(20_000);
  await world.clock.advance(2_000);
  expect(engine.arrivals).toEqual(["refused"]);
  expect((await world.record("n"))?.grants).toMatchObject([{ expiresAt: end, leaseMs: 30_000 }]);
  lease.assertHeld();
});

scenario("LS163 a doubled renewal is refused [L128] [L129]", async (world) => {
  const { space, engine } = await world.client();
  const lease = await space.acquire("n", { renew: "manual" });
  engine.failNext({ kind: "twice", ms: 1_000 });
  await lease.renew("2s");
  await lease.renew("30s");
  await world.clock.advance(1_500);
  expect(engine.arrivals).toEqual(["refused"]);
  expect((await world.record("n"))?.grants).toMatchObject([{ expiresAt: lease.expiresAt }]);
});

/** A waiter of a server: the same attempt id, decided under the presence of the server. */
function attemptAt(presence: string, isRepeat: boolean): AcquireCommand {
  return {
    scope: {
      namespace: "default",
      presence,
      actor: { host: presence, pid: 1 },
      clockErrorMs: 0,
      presenceMs: 15_000,
      confirmMs: 5_000,
      queueMax: 10_000,
      holdersMax: 1_000,
      wideningMax: 128,
      audit: "exceptions",
    },
    name: "n",
    id: "attempt",
    kind: "lease",
    mode: "exclusive",
    owner: "client",
    leaseMs: 30_000,
    lockDelayMs: 0,
    waitMs: 30_000,
    isRepeat,
  };
}

async function ask(client: Client, command: AcquireCommand): Promise<AcquireResult> {
  const decide = (snapshot: Snapshot): Decision<Outcome<AcquireResult>> =>
    decideAcquire(snapshot, command);
  return (await client.engine.transact([key], decide, {})).result;
}

async function cancel(client: Client, presence: string, number: number | null): Promise<string> {
  const { scope, name, id } = attemptAt(presence, false);
  const command = { scope, name, id, number };
  const decide = (snapshot: Snapshot): ReturnType<typeof decideCancel> =>
    decideCancel(snapshot, command);
  return (await client.engine.transact([key], decide, {})).result.ended;
}

scenario(
  "LS164 a server that lost its client ends nothing elsewhere [L15] [L130]",
  async (world) => {
    const holder = await world.client();
    const lease = await holder.space.acquire("n");
    const first = await ask(holder, attemptAt("server-1", false));
    expect(first).toMatchObject({ kind: "queued", number: 1 });
    const again = await ask(holder, attemptAt("server-2", true));
    expect(again).toMatchObject({ kind: "queued", number: 1, denial: { position: 0 } }); // L15
    expect((await world.record("n"))?.queue).toMatchObject([{ presence: "server-2", number: 1 }]);
    expect(await cancel(holder, "server-1", 1)).toBe("foreign"); // L130: still queued.
    await lease.release();
    expect(await ask(holder, attemptAt("server-2", true))).toMatchObject({ kind: "granted" });
    expect(await cancel(holder, "server-1", 1)).toBe("foreign"); // L130: the lease lives.
    expect(await world.record("n")).toMatchObject({
      counter: 2,
      queue: [],
      grants: [{ id: "attempt", state: "held", presence: "server-2", token: 2 }],
    });
  },
);

scenario(
  "LS164 cancelled first, the waiter begins anew at the tail [L16] [L130]",
  async (world) => {
    const holder = await world.client();
    await holder.space.acquire("n");
    await ask(holder, attemptAt("server-1", false));
    await ask(holder, { ...attemptAt("server-3", false), id: "behind" });
    expect(await cancel(holder, "server-1", 1)).toBe("ticket");
    expect(await ask(holder, attemptAt("server-2", true))).toEqual({
      kind: "gone",
      how: "cancelled",
    });
    const anew = await ask(holder, { ...attemptAt("server-2", false), id: "anew" });
    expect(anew).toMatchObject({ kind: "queued", number: 3, denial: { position: 1 } });
    expect((await world.record("n"))?.queue.map(({ id }) => id)).toEqual(["behind", "anew"]);
  },
);

scenario("LS169 an acquire counts from its own time [L56]", async (world) => {
  const { space, engine } = await world.client();
  await (await space.acquire("n")).release();
  const contact = await world.now();
  await world.clock.advance(20_000);
  const called = await world.now();
  const sentAtMs = world.clock.monotonicMs();
  const lease = await space.acquire("n");
  expect(lease.expiresAt).toBeGreaterThanOrEqual(called + 30_000);
  expect(lease.grantedAt).toBe(contact + 20_000); // Never the time of the last contact.
  const deadlineMs = sentAtMs + lease.remainingMs();
  expect(deadlineMs).toBeLessThan(sentAtMs + lease.expiresAt - called); // L56
  expect(engine.commits).not.toHaveLength(0);
});

scenario("LS169 a delayed acquire is not decided with an older time [L12] [L56]", async (world) => {
  const { space, engine } = await world.client();
  await (await space.acquire("n")).release();
  engine.failNext({ kind: "delay", ms: 3_000 });
  const called = await world.now();
  const lease = await within(world.clock, 5_000, space.acquire("n"));
  expect(lease.expiresAt).toBe(called + 33_000); // From the commit, not from the call.
  expect(lease.remainingMs()).toBeLessThan(27_000); // L56: from the call, less the margin.
});

scenario("LS175 an acquire whose reply came too late begins anew [L15] [L25]", async (world) => {
  const { space, engine, told } = await world.client();
  const untilMs = world.clock.monotonicMs() + 1_000;
  engine.fault = ({ serial }) => {
    if (serial === first) return { kind: "unknown-applied" };
    return { kind: world.clock.monotonicMs() < untilMs ? "drop" : "pass" };
  };
  const first = engine.calls;
  const asked = space.acquire("n", { lease: "200ms", renew: "manual" });
  await world.clock.settle();
  const [stored] = (await world.record("n"))?.grants ?? [];
  const lease = await within(world.clock, 3_000, asked);
  expect(lease.token).toBe(2); // A higher token, ...
  expect(lease.leaseId).not.toBe(stored?.id); // ... and a new attempt id.
  expect(await world.record("n")).toMatchObject({
    grants: [{ token: 2, id: lease.leaseId }],
    ended: [{ id: stored?.id, how: "reclaimed" }], // L15: ended, not revived.
  });
  expect(told("ticketLost")).toEqual([{ name: "n", how: "reclaimed" }]); // L25
});

scenario("LS179 a renewal that arrives after the end is refused [L39]", async (world) => {
  const { space, engine } = await world.client();
  const contender = await world.client();
  const lease = await space.acquire("n", { lease: "2s", renew: "manual" });
  engine.fault = () => ({ kind: "late-packet", ms: 3_000 });
  const renewing = track(lease.renew("30s"));
  await world.clock.advance(10_000);
  expect(engine.arrivals.length).toBeGreaterThan(0);
  expect(new Set(engine.arrivals)).toEqual(new Set(["refused"])); // validUntil has passed.
  expect(renewing.error()).toMatchObject({ code: "LEASE_LOST", reason: "expired" });
  expect(lease.state).toBe("lost");
  expect((await world.record("n"))?.grants).toMatchObject([{ expiresAt: lease.expiresAt }]);
  expect((await contender.space.tryAcquire("n"))?.token).toBe(2);
});

scenario("LS179 a decision names the end that it relied on [L39]", async (world) => {
  const { space, engine } = await world.client();
  const lease = await space.acquire("n", { renew: "manual" });
  const seen: (number | undefined)[] = [];
  const transact = engine.transact.bind(engine);
  engine.transact = (keys, decide, options) =>
    transact(
      keys,
      (snapshot) => {
        const decision = decide(snapshot);
        if (!isNeeds(decision)) seen.push(decision.validUntil);
        return decision;
      },
      options,
    );
  const end = lease.expiresAt;
  await world.clock.advance(1_000);
  await lease.renew();
  expect(seen).toEqual([end]);
});

scenario("LS180 a client with a worse clock is refused when it opens [L53]", async (world) => {
  await world.client();
  const refused = await rejection(world.client({}, { capabilities: { clockErrorMs: 50 } }));
  expect(refused).toMatchObject({
    code: "INVALID_ARGUMENT",
    parameter: "clockErrorMs",
    value: "50", // Its bound, ...
    limit: 0, // ... the agreed value, ...
  });
  expect(String(refused)).toMatch(/at most 0 ms.*another namespace/u); // ... and the cure.
  expect(await world.stored(["internal", "default", "clock"])).toEqual({ v: 1, errorMs: 0 });
});

scenario("LS180 a better clock is bound by the agreed value [L53]", async (world) => {
  const worse = { capabilities: { clockErrorMs: 20 } };
  await world.client({ namespace: "far" }, worse);
  const near = await world.client({ namespace: "far" });
  const again = await world.client({ namespace: "far" }, worse);
  const lease = await again.space.acquire("n", { lease: "1s", renew: "manual" });
  await world.clock.advance(1_019);
  expect(await near.space.tryAcquire("n")).toBeNull(); // Over for others 20 ms after its end.
  await world.clock.advance(1);
  expect((await near.space.tryAcquire("n"))?.token).toBe(lease.token + 1);
});
