import { expect } from "vitest";

import { rejection } from "./settling.ts";
import { scenario, track, within, type Client } from "./world.ts";

scenario("LS131 a claim is resumed after its maker has left [L88] [L89]", async (world) => {
  const [a, b, c] = [await world.client(), await world.client(), await world.client()];
  const claim = await a.space.claim("n", "ctx-1", { lease: "2s" });
  expect(claim).toEqual({ token: 1, leaseMs: 2_000, expiresAt: (await world.now()) + 2_000 });
  await within(world.clock, 1_000, a.space.close());
  expect(await world.status("n")).toMatchObject({ state: "claimed", token: 1 }); // L88
  await world.clock.advance(1_000);
  const lease = await b.space.resume("n", "ctx-1");
  expect(lease).toMatchObject({ token: 2, leaseMs: 2_000, owner: "ctx-1", state: "held" });
  expect(lease?.expiresAt).toBe((await world.now()) + 2_000);
  await world.clock.advance(7_000); // Renewed past its 2 s.
  lease?.assertHeld();
  expect(await c.space.tryAcquire("n")).toBeNull();
  const left = (lease?.expiresAt ?? 0) - (await world.now());
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(2_000);
});

scenario("LS132 a lapsed claim is resumed while nobody came since [L90]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  for (const name of ["left", "taken", "passed", "waited-for"]) {
    await a.space.tryClaim(name, "me", { lease: "1s" });
  }
  const blocked = await b.space.tryAcquire("waited-for");
  expect(blocked).toBeNull();
  await world.clock.advance(2_000);
  await b.space.acquire("taken");
  await (await b.space.acquire("passed")).release();
  expect(await a.space.resume("left", "me")).toMatchObject({ token: 2, leaseMs: 1_000 });
  expect(await a.space.resume("taken", "me")).toBeNull();
  expect(await a.space.resume("passed", "me")).toBeNull(); // Granted since, though free again.
  expect(await a.space.resume("left", "you")).toBeNull();
});

scenario("LS132 a claim that lapses with a waiter is not resumed [L90]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  await a.space.tryClaim("n", "me", { lease: "1s" });
  const waiting = track(b.space.acquire("n", { wait: "1m" }));
  await world.clock.settle();
  world.clock.stall(1_000); // The end has come, and the waiter has not looked yet.
  expect(await a.space.resume("n", "me")).toBeNull();
  await world.clock.advance(200);
  expect(waiting.value().token).toBe(2);
});

scenario("LS133 a second resume supersedes the first [L89]", async (world) => {
  const [a, b, c] = [await world.client(), await world.client(), await world.client()];
  await a.space.tryClaim("n", "ctx");
  const first = await a.space.resume("n", "ctx", { renew: "manual" });
  const signal = first?.signal;
  const second = await b.space.resume("n", "ctx");
  expect([first?.token, second?.token]).toEqual([2, 3]);
  expect(second?.leaseId).not.toBe(first?.leaseId);
  expect(await rejection(first?.renew() as Promise<void>)).toMatchObject({
    code: "LEASE_LOST",
    reason: "superseded",
    token: 2,
    by: "host-2/2",
  });
  expect(signal?.reason).toMatchObject({ code: "LEASE_LOST", reason: "superseded" });
  expect(await first?.release()).toBe(false);
  expect(first?.state).toBe("lost");
  second?.assertHeld();
  await second?.renew();
  expect(await c.space.tryClaim("n", "third")).toBe(false);
  expect(a.told("lost")).toEqual([{ name: "n", token: 2, reason: "superseded" }]);
  expect((await world.record("n"))?.grants).toMatchObject([{ token: 3, kind: "resumed" }]);
});

scenario("LS134 two processes with one owner id never both hold [L89] [L93]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const claims = await Promise.all([
    a.space.tryClaim("n", "web-1"),
    b.space.tryClaim("n", "web-1"),
  ]);
  expect(claims).toEqual([true, false]); // L93: refused like any other.
  const [one, two] = await Promise.all([
    a.space.resume("n", "web-1"),
    b.space.resume("n", "web-1"),
  ]);
  expect(new Set([one?.token, two?.token])).toEqual(new Set([2, 3]));
  expect((await world.record("n"))?.grants).toHaveLength(1);
  const [earlier, later] = (one?.token ?? 0) < (two?.token ?? 0) ? [one, two] : [two, one];
  await world.clock.advance(11_000);
  expect([earlier?.state, later?.state]).toEqual(["lost", "held"]); // L89
});

for (const call of ["claim", "tryClaim"] as const) {
  scenario(`LS135 the lost reply of a ${call} is no second claim [L93] [L15]`, async (world) => {
    const { space, engine } = await world.client();
    engine.failNext({ kind: "unknown-applied" });
    const claimed = await within<unknown>(world.clock, 2_000, space[call]("n", "me"));
    if (call === "tryClaim") expect(claimed).toBe(true);
    else expect(claimed).toMatchObject({ token: 1, leaseMs: 30_000 });
    const record = await world.record("n");
    expect(record).toMatchObject({ counter: 1, grants: [{ kind: "claim", token: 1 }] });
    expect(record?.grants).toHaveLength(1);
  });
}

scenario("LS136 a resumed claim is renewed with its own length [L54] [L88]", async (world) => {
  const a = await world.client();
  const b = await world.client({ lease: "10m", leaseMax: "10m" });
  const hourMs = 3_600_000;
  await a.space.tryClaim("n", "me", { lease: "2h" });
  await world.clock.advance(1_000);
  const lease = await b.space.resume("n", "me");
  expect(lease?.leaseMs).toBe(2 * hourMs);
  const resumed = lease?.expiresAt ?? 0;
  await world.clock.advance(41 * 60_000); // A third of the length has passed.
  expect(b.told("renewed")).toHaveLength(1);
  const [{ expiresAt, leaseMs, spanMs } = { expiresAt: 0, leaseMs: 0, spanMs: 0 }] =
    (await world.record("n"))?.grants ?? [];
  expect([leaseMs, spanMs]).toEqual([2 * hourMs, 2 * hourMs]);
  expect(expiresAt - resumed).toBeGreaterThan(0.2 * 2 * hourMs);
  expect(lease?.expiresAt).toBe(expiresAt);
});

scenario("LS137 releaseClaim and ifUnresumed spare a resumed lease [L91] [L94]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  await a.space.tryClaim("n", "me");
  const lease = await a.space.resume("n", "me");
  const before = await world.record("n");
  expect(await b.space.releaseClaim("n", "me")).toBe(false); // L94
  expect(await b.space.resume("n", "me", { ifUnresumed: true })).toBeNull(); // L91
  expect(await world.record("n")).toEqual(before);
  lease?.assertHeld();
  await lease?.renew();
  await b.space.tryClaim("other", "me");
  expect(await b.space.releaseClaim("other", "you")).toBe(false);
  expect(await b.space.releaseClaim("other", "me")).toBe(true);
  expect(await b.space.releaseClaim("other", "me")).toBe(false);
  expect(await world.status("other")).toMatchObject({ state: "free" });
});

scenario("LS137 resume leaves leases made by acquire alone [L92]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const lease = await a.space.acquire("n", { owner: "x", lease: "1s", renew: "manual" });
  const before = await world.record("n");
  expect(await b.space.resume("n", "x")).toBeNull();
  expect(await world.record("n")).toEqual(before);
  lease.assertHeld();
  await world.clock.advance(2_000);
  expect(await b.space.resume("n", "x")).toBeNull(); // Not when it has lapsed, either.
  b.engine.failNext({ kind: "fail" });
  // L92: null never means an engine error.
  expect(await rejection(b.space.resume("n", "x"))).toMatchObject({ code: "ENGINE_UNAVAILABLE" });
});

scenario("LS138 of eight that claim at once exactly one succeeds [L18] [L93]", async (world) => {
  const eight: Client[] = [];
  for (let i = 0; i < 8; i += 1) eight.push(await world.client());
  await eight[0]?.space.tryClaim("n", "before", { lease: "1s" });
  await world.clock.advance(1_000);
  await Promise.all(eight.map(({ space }) => space.status("n")));
  const claims = await Promise.all(
    eight.map(({ space }, index) => space.tryClaim("n", `owner-${index}`)),
  );
  expect(claims.filter(Boolean)).toHaveLength(1);
  expect(await world.record("n")).toMatchObject({
    counter: 2,
    grants: [{ kind: "claim", owner: `owner-${claims.indexOf(true)}` }],
  });
  const reclaimed = eight.flatMap((client) => client.told("reclaimed"));
  expect(reclaimed).toEqual([{ name: "n", token: 1, owner: "before" }]);
});

scenario("LS139 a claim of a dead owner ends by itself [L28] [L88] [L36]", async (world) => {
  const [a, b, c] = [await world.client(), await world.client(), await world.client()];
  const { expiresAt } = await a.space.claim("n", "dead", { lease: "30s" });
  a.kill();
  const second = track(b.space.claim("n", "b", { wait: "60s", lease: "10s" }));
  await world.clock.settle();
  const third = track(c.space.acquire("n", { wait: "60s" }));
  await world.clock.advance(100);
  for (const client of [b, c]) {
    expect(client.told("waiting")).toMatchObject([
      {
        name: "n",
        // L28: the denial names the dead owner.
        denial: { holders: [{ owner: "dead", kind: "claim", token: 1 }], until: expiresAt },
      },
    ]);
  }
  expect(c.told("waiting")).toMatchObject([{ denial: { position: 1 } }]);
  await world.clock.advance(expiresAt - 1 - (await world.now()));
  expect([second.state(), third.state()]).toEqual(["waiting", "waiting"]);
  await world.clock.advance(1_001);
  expect(second.value().token).toBe(2);
  expect(third.state()).toBe("waiting");
  await world.clock.advance(11_000);
  expect(third.value().token).toBe(3);
});
