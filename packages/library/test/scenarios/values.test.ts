import { expect } from "vitest";

import { LeaseholdError } from "../../src/errors.ts";
import { storedLock } from "./records.ts";
import { rejection } from "./settling.ts";
import { scenario, within } from "./world.ts";

scenario("LS3 a negative wait is refused, free or held [L5] [L6]", async (world) => {
  const a = await world.client();
  const b = await world.client();
  await a.space.acquire("held");
  const before = b.engine.calls;
  for (const name of ["free", "held"]) {
    expect(await rejection(b.space.acquire(name, { wait: -1 }))).toMatchObject({
      code: "INVALID_ARGUMENT",
      retry: "change",
      status: 400,
      parameter: "wait",
      value: "-1",
    });
  }
  expect(b.engine.calls).toBe(before);
  expect(b.events).toEqual([]);
  expect(await world.record("free")).toBeUndefined();
  expect(await world.record("held")).toMatchObject({ counter: 1, queue: [] });
});

scenario("LS5 a lease length is defaulted, capped or kept [L4]", async (world) => {
  const { space } = await world.client({ leaseMax: "60s", claimMax: "60s" });
  const table = [
    { lease: 0, leaseMs: 30_000 },
    { lease: "-5s", leaseMs: 30_000 },
    { lease: undefined, leaseMs: 30_000 },
    { lease: "3600s", leaseMs: 60_000 },
    { lease: "45s", leaseMs: 45_000 },
  ];
  for (const [row, { lease, leaseMs }] of table.entries()) {
    const now = await world.now();
    const stored = { leaseMs, spanMs: leaseMs, expiresAt: now + leaseMs };
    const acquired = await space.acquire(`acquire-${row}`, { lease });
    expect(acquired).toMatchObject({ leaseMs, expiresAt: now + leaseMs });
    const tried = await space.tryAcquire(`try-${row}`, { lease });
    expect(tried).toMatchObject({ leaseMs, expiresAt: now + leaseMs });
    const claimed = await space.claim(`claim-${row}`, "o", { lease });
    expect(claimed).toEqual({ token: 1, leaseMs, expiresAt: now + leaseMs });
    expect(await space.tryClaim(`tryClaim-${row}`, "o", { lease })).toBe(true);
    for (const call of ["acquire", "try", "claim", "tryClaim"]) {
      expect((await world.record(`${call}-${row}`))?.grants).toMatchObject([stored]);
    }
  }
  await space.close();
});

scenario("LS6 a lapsed lease is taken at its end and not before [L14] [L53]", async (world) => {
  const a = await world.client();
  const b = await world.client();
  const held = await a.space.acquire("n", { renew: "manual" });
  await world.clock.advance(29_999);
  expect(await world.now()).toBe(held.expiresAt - 1);
  expect(await b.space.tryAcquire("n")).toBeNull();
  expect(b.told("reclaimed")).toEqual([]);
  await world.clock.advance(1);
  expect(await b.space.tryAcquire("n")).toMatchObject({ token: 2 });
  expect(b.told("reclaimed")).toEqual([{ name: "n", token: 1, owner: held.owner }]);
  expect(a.told("reclaimed")).toEqual([]);
  expect(await world.record("n")).toMatchObject({
    grants: [{ token: 2 }],
    ended: [{ token: 1, how: "reclaimed" }],
  });
});

scenario("LS7 tokens rise by one with every grant and with nothing else [L61]", async (world) => {
  const { space, told } = await world.client();
  const first = await space.acquire("n");
  await first.renew();
  await first.release();
  const second = await space.acquire("n");
  expect(await space.tryAcquire("n")).toBeNull();
  await second.release();
  const third = await space.tryAcquire("n");
  await third?.release();
  const fourth = await space.acquire("n");
  const queued = space.acquire("n");
  await world.clock.settle();
  await fourth.release();
  const fifth = await within(world.clock, 100, queued);
  await fifth.release();
  const tokens = [first, second, third, fourth, fifth].map((lease) => lease?.token);
  expect(tokens).toEqual([1, 2, 3, 4, 5]);
  expect(told("acquired")).toMatchObject(tokens.map((token) => ({ token })));
  expect(await world.record("n")).toMatchObject({ counter: 5, grants: [], queue: [] });
});

scenario("LS8 the last token is never passed, and nothing changes [L62]", async (world) => {
  const { space, engine } = await world.client();
  const counter = Number.MAX_SAFE_INTEGER;
  const record = storedLock({ counter, touchedAt: await world.now() });
  await world.put(["lock", "default", "n"], record);
  const calls = [
    () => space.acquire("n"),
    () => space.acquire("n", { wait: 0 }),
    () => space.tryAcquire("n"),
    () => space.claim("n", "o"),
    () => space.tryClaim("n", "o"),
  ];
  for (const call of calls) {
    expect(await rejection(call())).toMatchObject({
      code: "TOKEN_OVERFLOW",
      retry: "never",
      status: 500,
      lock: "n",
      counter,
    });
  }
  expect(await space.status("n")).toMatchObject({ state: "free", counter, depth: 0 });
  expect(await world.stored(["lock", "default", "n"])).toEqual(record);
  expect(engine.commits.slice(1)).toEqual([]);
});

const badNames = [
  "",
  undefined,
  null,
  7,
  "\uD800",
  "a\nb",
  "\0",
  "x".repeat(1025),
  "ä".repeat(513),
];
const oddNames = [
  "   ",
  "/",
  "a//b",
  ".",
  "..",
  "\u00E4",
  "a\u0308",
  "x".repeat(1024),
  "%2F",
  "'\"`;--",
  "🔒",
  "__proto__",
];

scenario("LS9 names are refused alike or are names of their own [L1] [L2]", async (world) => {
  const { space, engine } = await world.client();
  const before = engine.calls;
  for (const bad of badNames as string[]) {
    const errors = await Promise.all(
      [
        () => space.acquire(bad),
        () => space.tryAcquire(bad),
        () => space.using(bad, {}, () => 1),
        () => space.claim(bad, "o"),
        () => space.tryClaim(bad, "o"),
        () => space.resume(bad, "o"),
        () => space.releaseClaim(bad, "o"),
        () => space.status(bad),
        () => space.why(bad),
        () => space.forceRelease(bad, { reason: "r" }),
      ].map((call) => rejection(call())),
    );
    for (const error of errors) {
      expect(error).toBeInstanceOf(LeaseholdError);
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT", parameter: "name" });
      expect((error as Error).message).toBe((errors[0] as Error).message);
    }
  }
  expect(engine.calls).toBe(before);
  for (const name of oddNames) {
    const lease = await space.acquire(name);
    expect(lease).toMatchObject({ name, token: 1 });
    expect(await space.status(name)).toMatchObject({ name, state: "held", token: 1 });
  }
  const { locks } = await space.list();
  expect(locks.map(({ name }) => name).toSorted()).toEqual(oddNames.toSorted());
});

scenario("LS10 names that look alike are strangers to each other [L2]", async (world) => {
  const { space } = await world.client();
  const other = await world.client();
  const elsewhere = await world.client({ namespace: "default/xy" });
  await elsewhere.space.acquire("xy");
  await world.put(["lockbox", "default", "xy"], { v: 1 });
  const neighbours = ["Model/A", "xyz", "xy/z", "xy/", "x"];
  for (const name of neighbours) await space.acquire(name);
  const queued = [other.space.acquire("xyz"), other.space.acquire("x")];
  await world.clock.settle();
  const stored = await Promise.all(neighbours.map((name) => world.record(name)));
  expect(stored.map((record) => record?.queue.length)).toEqual([0, 1, 0, 0, 1]);
  for (const name of ["model/a", "MODEL/A", "xy"]) {
    const first = await other.space.acquire(name, { wait: 0 });
    expect(first.token).toBe(1);
    const { locks } = await other.space.list({ prefix: name });
    expect(locks.find((lock) => lock.name === name)).toMatchObject({ state: "held", token: 1 });
    expect(await first.release()).toBe(true);
    expect(await other.space.acquire(name, { wait: 0 })).toMatchObject({ token: 2 });
  }
  const listed = await other.space.list({ prefix: "xy" });
  const tokens = Object.fromEntries(listed.locks.map(({ name, token }) => [name, token]));
  expect(tokens).toEqual({ xy: 2, "xy/": 1, "xy/z": 1, xyz: 1 });
  expect(await Promise.all(neighbours.map((name) => world.record(name)))).toEqual(stored);
  await Promise.all([other.space.close(), ...queued.map((call) => rejection(call))]);
});

scenario("LS11 durations are read, or refused by name and value [L3]", async (world) => {
  const { space, engine, told } = await world.client();
  const good = [
    { lease: 1500.5, leaseMs: 1_501 },
    { lease: "1.5s", leaseMs: 1_500 },
    { lease: 99.1, leaseMs: 100 },
    { lease: "2m", leaseMs: 120_000 },
  ];
  for (const [row, { lease, leaseMs }] of good.entries()) {
    const granted = await space.acquire(`n${row}`, { lease });
    expect(granted.leaseMs).toBe(leaseMs);
    await granted.renew(lease);
    expect((await world.record(`n${row}`))?.grants).toMatchObject([{ leaseMs }]);
    expect(await space.claim(`c${row}`, "o", { lease })).toMatchObject({ leaseMs });
  }
  const held = await space.acquire("held");
  const before = engine.calls;
  const bad = [
    [0.4, "0.4"],
    [1e-9, "1e-9"],
    [99, "99"],
    ["5x", '"5x"'],
    ["", '""'],
    ["5", '"5"'],
    [" 5s", '" 5s"'],
    ["1e3ms", '"1e3ms"'],
    [Number.NaN, "NaN"],
    [Infinity, "Infinity"],
    [-Infinity, "-Infinity"],
    [true, "true"],
    [10n, "10n"],
    [null, "null"],
    [[5], "an array of 1"],
    [{}, "an object"],
  ] as const;
  for (const [value, shown] of bad) {
    const lease = value as number;
    const calls = [
      space.acquire("n", { lease }),
      space.tryAcquire("n", { lease }),
      space.claim("n", "o", { lease }),
      space.tryClaim("n", "o", { lease }),
      held.renew(lease),
      held.extend(lease),
    ];
    const facts = { code: "INVALID_ARGUMENT", parameter: "lease", value: shown };
    const errors = await Promise.all(calls.map((call) => rejection(call)));
    expect(errors).toMatchObject(calls.map(() => facts));
  }
  expect(engine.calls).toBe(before);
  const waits = space.acquire("held", { wait: 10.7 });
  const refused = await rejection(within(world.clock, 100, waits));
  // Looked at every 10 ms, so the time-out after 11 ms is seen as 20 at most, and never as 10.
  expect(refused).toMatchObject({ code: "LOCK_WAIT_TIMEOUT", waitedMs: 11 });
  expect(told("waiting")).toHaveLength(1);
});

scenario("LS12 absurd lengths are capped, and the stored end is a date [L4]", async (world) => {
  const { space } = await world.client();
  const other = await world.client();
  const day = 86_400_000;
  for (const [row, lease] of [2 ** 31, 2 ** 53, 1e300, Number.MAX_VALUE].entries()) {
    const now = await world.now();
    const granted = await space.acquire(`a${row}`, { lease });
    expect(granted).toMatchObject({ leaseMs: 300_000, expiresAt: now + 300_000 });
    await granted.renew(lease);
    expect(granted).toMatchObject({ leaseMs: 300_000, expiresAt: now + 300_000 });
    const claimed = await space.claim(`c${row}`, "o", { lease });
    expect(claimed).toMatchObject({ leaseMs: day, expiresAt: now + day });
    for (const [name, expiresAt] of [
      [`a${row}`, granted.expiresAt],
      [`c${row}`, claimed.expiresAt],
    ] as const) {
      const { holders } = await other.space.status(name);
      expect(holders).toMatchObject([{ expiresAt }]);
      expect(new Date(holders[0]?.expiresAt ?? Number.NaN).getTime()).toBe(expiresAt);
    }
  }
});
