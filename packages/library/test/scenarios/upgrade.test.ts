import { expect } from "vitest";

import { scenario, track, within, type World } from "./world.ts";

async function grants(world: World, name: string): Promise<readonly string[]> {
  const record = await world.record(name);
  return (record?.grants ?? []).map(({ owner, mode, token }) => `${owner}:${mode}:${token}`);
}

const shared = (owner: string) => ({ mode: "shared", owner, lease: "30s" }) as const;

scenario("LS115 two holders want to upgrade: one is refused [L74] [L75] [I17]", async (world) => {
  const [one, two] = [await world.client(), await world.client()];
  const a = await one.space.acquire("n", shared("A"));
  const b = await two.space.acquire("n", shared("B"));
  const first = track(a.upgrade({ wait: Infinity }));
  await world.clock.settle();
  const second = track(b.upgrade({ wait: Infinity }));
  await world.clock.advance(1_000);
  expect(second.error()).toMatchObject({ code: "UPGRADE_CONFLICT", other: { owner: "A" } }); // L75
  expect([b.mode, b.state, first.state()]).toEqual(["shared", "held", "waiting"]);
  await b.release();
  await world.clock.advance(200);
  expect(first.state()).toBe("resolved");
  expect([a.mode, a.token, a.state]).toEqual(["exclusive", 3, "held"]); // L74: a new token.
  expect(await grants(world, "n")).toEqual(["A:exclusive:3"]);
  await world.clock.advance(40_000);
  expect(a.state).toBe("held");
  expect(await a.release()).toBe(true);
});

for (const how of ["times out", "is aborted"] as const) {
  scenario(`LS116 an upgrade goes first, and ${how} without a trace [L74] [L76]`, async (world) => {
    const clients = [await world.client(), await world.client(), await world.client()] as const;
    const [one, two, three] = clients;
    const a = await one.space.acquire("n", shared("A"));
    const stays = await two.space.acquire("n", shared("B"));
    const x = track(three.space.acquire("n", { owner: "X", wait: "1m" }));
    await world.clock.settle();
    const abort = new AbortController();
    const wait = how === "times out" ? "2s" : "1m";
    const upgrading = track(a.upgrade({ wait, signal: abort.signal }));
    await world.clock.settle();
    const ids = (await world.record("n"))?.queue.map(({ owner }) => owner);
    expect(ids).toEqual(["A", "X"]); // L74: before X.
    expect(await three.space.tryAcquire("n", { mode: "shared" })).toBeNull();
    await world.clock.advance(1_900);
    if (how === "is aborted") abort.abort();
    await world.clock.advance(1_000);
    const code = how === "times out" ? "LOCK_WAIT_TIMEOUT" : "LOCK_ABORTED";
    expect(upgrading.error()).toMatchObject({ code });
    expect([a.mode, a.token, a.state]).toEqual(["shared", 1, "held"]); // L76
    expect((await world.record("n"))?.queue.map(({ owner }) => owner)).toEqual(["X"]);
    await stays.release();
    await a.release();
    await world.clock.advance(1_000);
    expect(x.state()).toBe("resolved");
  });
}

scenario(
  "LS117 a downgrade lets the shared heads in, and nobody past an exclusive [L77]",
  async (world) => {
    const [one, two] = [await world.client(), await world.client()];
    const a = await one.space.acquire("n", { owner: "A" });
    const s1 = track(two.space.acquire("n", shared("S1")));
    const s2 = track(two.space.acquire("n", shared("S2")));
    await world.clock.settle();
    const commits = one.engine.commits.length;
    await a.downgrade();
    expect(one.engine.commits.length - commits).toBe(1);
    expect([a.mode, a.token]).toEqual(["shared", 1]); // L77: the token stays.
    await world.clock.advance(200);
    expect([s1.state(), s2.state()]).toEqual(["resolved", "resolved"]);
    const other = await one.space.acquire("m", { owner: "A" });
    const x = track(two.space.acquire("m", { owner: "X" }));
    await world.clock.settle();
    const s3 = track(two.space.acquire("m", shared("S3")));
    await world.clock.settle();
    await other.downgrade();
    await world.clock.advance(2_000);
    expect([x.state(), s3.state()]).toEqual(["waiting", "waiting"]);
    await other.downgrade(); // No-op when shared.
    expect(other.state).toBe("held");
  },
);

scenario(
  "LS170 an upgrade granted unseen is set back when it is given up [L22] [L76]",
  async (world) => {
    const [one, two, three] = [await world.client(), await world.client(), await world.client()];
    const a = await one.space.acquire("n", shared("A"));
    const b = await two.space.acquire("n", shared("B"));
    const abort = new AbortController();
    const upgrading = track(a.upgrade({ wait: "1m", signal: abort.signal }));
    await world.clock.settle();
    one.engine.dropsHints = true;
    await b.release();
    expect(await grants(world, "n")).toEqual(["A:exclusive:3"]); // L22: held at once.
    abort.abort();
    await world.clock.advance(1_000);
    expect(upgrading.error()).toMatchObject({ code: "LOCK_ABORTED" });
    expect(await grants(world, "n")).toEqual(["A:shared:1"]); // L76: its old token.
    expect([a.mode, a.token, a.state]).toEqual(["shared", 1, "held"]);
    const next = await three.space.acquire("n", { ...shared("C"), wait: "1s" });
    expect(next.token).toBe(4);
  },
);

scenario(
  "LS170 a holder killed while it waits to upgrade ends by its own lease [L22]",
  async (world) => {
    const [one, two, three] = [await world.client(), await world.client(), await world.client()];
    const a = await one.space.acquire("n", { ...shared("A"), lease: "20s", renew: "manual" });
    const b = await two.space.acquire("n", shared("B"));
    void a.upgrade({ wait: "5m" }).catch(() => undefined);
    await world.clock.settle();
    one.kill();
    await b.release();
    expect((await world.record("n"))?.grants).toMatchObject([{ mode: "exclusive", state: "held" }]);
    const next = track(three.space.acquire("n", { wait: "1m" }));
    await world.clock.advance(19_000);
    expect(next.state()).toBe("waiting");
    await world.clock.advance(2_100);
    expect(next.state()).toBe("resolved");
  },
);

scenario("tryUpgrade never waits [L74]", async (world) => {
  const [one, two] = [await world.client(), await world.client()];
  const a = await one.space.acquire("n", shared("A"));
  const b = await two.space.acquire("n", shared("B"));
  expect(await a.tryUpgrade()).toBe(false);
  expect((await world.record("n"))?.queue).toEqual([]);
  await b.release();
  expect(await a.tryUpgrade()).toBe(true);
  expect(await a.tryUpgrade()).toBe(true);
  expect(a.token).toBe(3);
});

scenario("an upgrade of a lease that is over says so [L39]", async (world) => {
  const [one, admin] = [await world.client(), await world.client()];
  const a = await one.space.acquire("n", shared("A"));
  await admin.space.forceRelease("n", { reason: "stuck" });
  const lost = { code: "LEASE_LOST", reason: "forced", why: "stuck" };
  await expect(within(world.clock, 1_000, a.upgrade())).rejects.toMatchObject(lost); // L39
  const b = await one.space.acquire("m", { owner: "B" });
  await admin.space.forceRelease("m", { reason: "stuck" });
  await expect(within(world.clock, 1_000, b.downgrade())).rejects.toMatchObject(lost); // L39
});

scenario("LS140 a lease is given away and taken up once [L95]", async (world) => {
  const [one, two, three] = [await world.client(), await world.client(), await world.client()];
  const a = await one.space.acquireAll(["n", "m"], { lease: "10s", owner: "A" });
  const form = JSON.parse(JSON.stringify(await a.transfer({ lease: "20s" }))) as never;
  expect(a.state).toBe("released");
  expect(await a.release()).toBe(false);
  expect((await world.record("n"))?.grants).toHaveLength(1); // Nothing is freed.
  await world.clock.advance(15_000);
  const b = await two.space.attach(form);
  expect(b).toMatchObject({ names: ["n", "m"], leaseMs: 20_000, owner: "A", state: "held" });
  expect([b?.tokenOf("n"), b?.tokenOf("m")]).toEqual([2, 2]); // L95: higher tokens.
  expect(b?.leaseId).not.toBe(a.leaseId);
  expect(await three.space.attach(form)).toBeNull(); // L95: once.
  await world.clock.advance(60_000);
  expect(b?.state).toBe("held");
  expect(await b?.release()).toBe(true);
});

scenario(
  "LS71 a restarted process takes its lease up by the portable form [L95] [L61]",
  async (world) => {
    const [one, two] = [await world.client(), await world.client()];
    const a = await one.space.acquire("n", { lease: "30s" });
    const form = await a.transfer();
    one.kill();
    const again = await two.space.attach(form);
    expect(again?.token).toBe(2);
    await again?.release();
    expect((await two.space.acquire("n")).token).toBe(3); // L61
    const over = await (await two.space.acquire("m", { lease: "1s", renew: "manual" })).transfer();
    await world.clock.advance(1_000);
    expect(await two.space.attach(over)).toBeNull();
  },
);

scenario("attach refuses what is no portable lease [L6]", async (world) => {
  const { space } = await world.client();
  const good = {
    namespace: "default",
    names: ["n"],
    modes: [],
    leaseId: "x",
    tokens: [],
    leaseMs: 1,
  };
  const bad: readonly [string, unknown][] = [
    ["portable", null],
    ["portable.namespace", { ...good, namespace: "other" }],
    ["portable.names", { ...good, names: [] }],
    ["portable.names", { ...good, names: [7] }],
    ["portable.leaseId", { ...good, leaseId: 7 }],
  ];
  for (const [parameter, value] of bad) {
    const refused = { code: "INVALID_ARGUMENT", parameter };
    await expect(space.attach(value as never)).rejects.toMatchObject(refused); // L6
  }
  expect(await space.attach(good as never)).toBeNull();
});
