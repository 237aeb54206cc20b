import { expect } from "vitest";

import { decideAcquire } from "../../src/core/lock/acquire.ts";
import { type AcquireCommand } from "../../src/core/lock/acquire-command.ts";
import { lockKey } from "../../src/core/lock/keys.ts";
import type { Decision, Snapshot } from "../../src/core/decision.ts";
import type { Outcome } from "../../src/core/lock/outcome.ts";
import type { AcquireResult } from "../../src/core/lock/acquire.ts";
import { scenario, track, within, type Client, type World } from "./world.ts";

/** The attempt ids that a lock's record holds, by where they stand. */
async function attempts(world: World, name: string): Promise<Record<string, readonly string[]>> {
  const record = await world.record(name);
  return {
    grants: (record?.grants ?? []).map(({ id }) => id),
    queue: (record?.queue ?? []).map(({ id }) => id),
    ended: (record?.ended ?? []).map(({ how }) => how),
  };
}

scenario("LS72 a waiter gets the lock of a dead process at its end [L36] [L14]", async (world) => {
  const dead = await world.client();
  const b = await world.client();
  const inherited = await dead.space.acquire("n", { lease: "30s", renew: "manual" });
  dead.kill();
  await world.clock.advance(12_000);
  const waiting = track(b.space.acquire("n", { wait: "1m" }));
  await world.clock.advance(inherited.expiresAt - (await world.now()) - 1);
  expect(waiting.state()).toBe("waiting");
  await world.clock.advance(1_001); // L36: within 1 s of the end.
  expect(waiting.value().token).toBe(2);
  expect(b.told("reclaimed")).toEqual([{ name: "n", token: 1, owner: inherited.owner }]); // L14
  expect((await world.record("n"))?.grants).toMatchObject([{ token: 2 }]);
});

for (const how of ["killed", "cut off"] as const) {
  scenario(`LS73 a waiter gets the lock of a ${how} holder in time [L36]`, async (world) => {
    const a = await world.client();
    const b = await world.client();
    const held = await a.space.acquire("n", { lease: "5s" });
    await world.clock.advance(7_000);
    const waiting = track(b.space.acquire("n", { wait: "1m" }));
    await world.clock.settle();
    if (how === "killed") a.kill();
    else a.engine.fault = () => ({ kind: "hang" });
    const [grant] = (await world.record("n"))?.grants ?? [];
    const lastRenewal = (grant?.expiresAt ?? 0) - 5_000;
    await world.clock.advance(lastRenewal + 4_999 - (await world.now()));
    expect(waiting.state()).toBe("waiting");
    await world.clock.advance(1_001);
    expect(waiting.state()).toBe("resolved"); // L36: at most 6 s after the last renewal.
    expect(waiting.value().grantedAt - lastRenewal).toBeGreaterThanOrEqual(5_000);
    expect(held.state).toBe("lost");
  });
}

scenario(
  "LS75 a lost reply is looked for, and the caller has its grant [L15] [L117]",
  async (world) => {
    const a = await world.client();
    const contender = await world.client();
    const start = await world.now();
    const untilMs = world.clock.monotonicMs() + 1_000;
    a.engine.fault = ({ serial }) => {
      if (serial === first) return { kind: "unknown-applied" };
      return { kind: world.clock.monotonicMs() < untilMs ? "drop" : "pass" };
    };
    const first = a.engine.calls;
    const lease = await within(world.clock, 3_000, a.space.acquire("n", { lease: "180s" }));
    expect(lease.token).toBe(1); // L15: no second token.
    const record = await world.record("n");
    expect(record).toMatchObject({ counter: 1, queue: [], nextTicket: 1 });
    expect(record?.grants).toHaveLength(1);
    const repeatedAt = lease.expiresAt - 180_000;
    expect(repeatedAt).toBeGreaterThanOrEqual(start + 1_000); // L15: counts from the repeat.
    expect(record?.grants[0]).toMatchObject({ expiresAt: lease.expiresAt, grantedAt: start });
    expect(await contender.space.tryAcquire("n")).toBeNull();
    expect(a.told("acquired")).toHaveLength(1);
  },
);

/** Ways in which a caller goes away whose acquire was stored, though it never learnt so. */
const goings: readonly { how: string; call: (client: Client, world: World) => Promise<unknown> }[] =
  [
    {
      how: "aborts",
      call: (client) => {
        const abort = new AbortController();
        client.engine.failNext({ kind: "unknown-applied" });
        setImmediate(() => abort.abort(new Error("gone")));
        return client.space.acquire("n", { lease: "180s", signal: abort.signal });
      },
    },
    {
      how: "tries once",
      call: (client, world) => {
        const first = client.engine.calls;
        const untilMs = world.clock.monotonicMs() + 300;
        client.engine.fault = ({ serial }) => {
          if (serial === first) return { kind: "unknown-applied" };
          return { kind: world.clock.monotonicMs() < untilMs ? "unknown-lost" : "pass" };
        };
        return client.space.tryAcquire("n", { lease: "180s" });
      },
    },
  ];

for (const { how, call } of goings) {
  scenario(
    `LS75 a caller whose reply was lost ${how}: another within 5 s [L117]`,
    async (world) => {
      const a = await world.client({ callTimeout: "200ms" });
      const contender = await world.client();
      const given = track(call(a, world));
      const waiting = track(contender.space.acquire("n", { wait: "1m" }));
      await world.clock.advance(5_000);
      expect(given.state()).toBe("rejected");
      expect(waiting.value().token).toBe(2); // L117: gone long before its lease of 180 s.
      expect((await attempts(world, "n"))["ended"]).toEqual(["cancelled"]);
      a.engine.fault = () => ({ kind: "pass" });
    },
  );
}

scenario("LS76 an unknown write is read again: the same token [L117] [L16]", async (world) => {
  const { space, engine } = await world.client();
  engine.failNext({ kind: "unknown-applied" });
  const first = await within(world.clock, 2_000, space.acquire("n"));
  expect(first.token).toBe(1);
  await first.release();
  engine.failNext({ kind: "unknown-lost" });
  const second = await within(world.clock, 2_000, space.acquire("n"));
  expect(second.token).toBe(2);
  expect((await world.record("n"))?.counter).toBe(2);
});

scenario("LS76 the packet of a given-up attempt is refused [L16] [L117] [L128]", async (world) => {
  const a = await world.client({ callTimeout: "200ms" });
  const b = await world.client();
  const first = a.engine.calls;
  const untilMs = world.clock.monotonicMs() + 300;
  a.engine.fault = ({ serial }) => {
    if (serial === first) return { kind: "late-packet", ms: 3_000 };
    return { kind: world.clock.monotonicMs() < untilMs ? "drop" : "pass" };
  };
  const given = track(a.space.tryAcquire("n"));
  await world.clock.advance(2_000);
  expect(given.error()).toMatchObject({ code: "ENGINE_UNAVAILABLE", outcome: "unknown" });
  expect((await attempts(world, "n"))["ended"]).toEqual(["cancelled"]);
  await world.clock.advance(2_000);
  expect(a.engine.arrivals).toEqual(["refused"]); // The cancel has changed the record.
  expect((await attempts(world, "n"))["grants"]).toEqual([]);
  const token = (await b.space.tryAcquire("n"))?.token;
  expect(token).toBe(1); // Skipped or not, never reused: none was given out before.
});

scenario("LS77 an acquire that is delivered twice grants once [L16] [L128]", async (world) => {
  const { space, engine } = await world.client();
  engine.failNext({ kind: "twice", ms: 1_000 });
  const lease = await space.acquire("n");
  expect(await lease.release()).toBe(true);
  await world.clock.advance(2_000);
  expect(engine.arrivals).toEqual(["refused"]);
  expect(await world.record("n")).toMatchObject({ counter: 1, grants: [] });
});

for (const isRepeat of [true, false]) {
  const what = isRepeat ? "repeated" : "late";
  scenario(`LS77 a ${what} request of an ended attempt is not granted [L16]`, async (world) => {
    const { space, engine } = await world.client();
    const lease = await space.acquire("n");
    const command: AcquireCommand = {
      scope: scopeOf(),
      name: "n",
      id: lease.leaseId,
      kind: "lease",
      mode: "exclusive",
      owner: "again",
      leaseMs: 30_000,
      lockDelayMs: 0,
      waitMs: 1_000,
      isRepeat,
    };
    const ask = (snapshot: Snapshot): Decision<Outcome<AcquireResult>> =>
      decideAcquire(snapshot, command);
    await lease.release();
    const { result } = await engine.transact([lockKey("default", "n")], ask, {});
    expect(result).toEqual({ kind: "gone", how: "released" }); // L16: it says how it ended.
    expect(await world.record("n")).toMatchObject({ counter: 1, grants: [], queue: [] });
  });
}

function scopeOf(): AcquireCommand["scope"] {
  return {
    namespace: "default",
    presence: "someone",
    actor: { host: "h", pid: 1 },
    clockErrorMs: 0,
    presenceMs: 15_000,
    confirmMs: 5_000,
    queueMax: 10_000,
    holdersMax: 1_000,
    wideningMax: 128,
    audit: "exceptions",
  };
}

scenario(
  "LS78 a release whose write fails is tried again, B stays first [L20] [L116]",
  async (world) => {
    const [a, b, c] = [await world.client(), await world.client(), await world.client()];
    const held = await a.space.acquire("n");
    const second = track(b.space.acquire("n", { wait: "1m" }));
    await world.clock.settle();
    const third = track(c.space.acquire("n", { wait: "1m" }));
    await world.clock.settle();
    a.engine.failNext({ kind: "drop" }, 2);
    expect(await within(world.clock, 2_000, held.release())).toBe(true); // Retried.
    await world.clock.advance(200);
    expect(second.value().token).toBe(2); // L20
    expect(third.state()).toBe("waiting");
  },
);

scenario(
  "LS78 a release that fails for good rejects, B stays first [L20] [L116]",
  async (world) => {
    const [a, b] = [await world.client(), await world.client()];
    const held = await a.space.acquire("n", { lease: "10s" });
    const waiting = track(b.space.acquire("n", { wait: "1m" }));
    await world.clock.settle();
    const before = await world.record("n");
    a.engine.fault = () => ({ kind: "fail" });
    await expect(held.release()).rejects.toMatchObject({
      code: "ENGINE_UNAVAILABLE",
      retry: "change",
      outcome: "none",
    });
    expect(await world.record("n")).toEqual(before); // L116: no trace.
    expect(waiting.state()).toBe("waiting");
    await world.clock.advance(11_000);
    expect(waiting.value().token).toBe(2); // B settles when the lease has ended by itself.
    expect(a.told("released")).toEqual([]);
  },
);

scenario("LS79 two decide on the same state, one commits [L18]", async (world) => {
  const a = await world.client();
  const b = await world.client();
  for (const { space } of [a, b]) await (await space.acquire("n")).release();
  await a.space.status("n");
  const decided = a.engine.decisions + b.engine.decisions;
  const committed = a.engine.commits.length + b.engine.commits.length;
  const leases = await Promise.all([a.space.tryAcquire("n"), b.space.tryAcquire("n")]);
  expect(leases.filter((lease) => lease !== null).map(({ token }) => token)).toEqual([3]);
  expect(a.engine.commits.length + b.engine.commits.length - committed).toBe(1);
  // The memory engine decides one call after the other; SQLite's loser has decided again.
  const again = a.engine.decisions + b.engine.decisions - decided - 2;
  expect(again).toBe(world.engine === "sqlite" ? 1 : 0);
});
