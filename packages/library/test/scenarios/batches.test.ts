import { expect } from "vitest";

import { scenario, track, within, type Client, type World } from "./world.ts";

/** The tokens of the grants that a lock's record holds. */
async function holders(world: World, name: string): Promise<readonly string[]> {
  const record = await world.record(name);
  return (record?.grants ?? []).map(({ owner, mode }) => `${owner}:${mode}`);
}

async function depth(world: World, name: string): Promise<number> {
  return (await world.status(name)).depth;
}

scenario("LS118 a batch is granted when all of it can be had [L78] [L81] [I14]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const held = await b.space.acquire("y", { owner: "B" });
  const waiting = track(
    a.space.acquireAll([{ name: "x" }, { name: "y", mode: "shared" }], { owner: "A" }),
  );
  await world.clock.advance(2_000);
  expect(waiting.state()).toBe("waiting");
  expect(await holders(world, "x")).toEqual([]); // L81: it holds nothing while it waits.
  const commits = b.engine.commits.length;
  await held.release();
  expect(b.engine.commits.length - commits).toBe(1); // L78: both in one commit.
  expect(await holders(world, "x")).toEqual(["A:exclusive"]);
  expect(await holders(world, "y")).toEqual(["A:shared"]);
  await world.clock.advance(200);
  const lease = waiting.value();
  expect(lease.names).toEqual(["x", "y"]);
  expect([lease.token, lease.tokenOf("x"), lease.tokenOf("y")]).toEqual([1, 1, 2]);
  expect(await world.keys("batch")).toEqual([]);
  expect(await lease.release()).toBe(true);
  expect([await holders(world, "x"), await holders(world, "y")]).toEqual([[], []]);
});

scenario("LS119 one name of three is held: wait, no wait, abort [L78] [L87]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const held = await b.space.acquire("y", { owner: "B" });
  const names = ["x", "y", "z"];
  await expect(a.space.acquireAll(names, { wait: 0 })).rejects.toMatchObject({
    code: "LOCK_WAIT_TIMEOUT",
    denial: { name: "y", holders: [{ owner: "B" }] }, // L87: the lock that holds it back.
  });
  const denials: unknown[] = [];
  expect(await a.space.tryAcquireAll(names, { refused: (d) => denials.push(d) })).toBeNull();
  expect(denials).toMatchObject([{ name: "y", reason: "held" }]);
  const abort = new AbortController();
  const aborted = track(a.space.acquireAll(names, { signal: abort.signal }));
  const waiting = track(a.space.acquireAll(names, { wait: "5s" }));
  await world.clock.advance(1_000);
  abort.abort();
  await world.clock.settle();
  expect(aborted.error()).toMatchObject({ code: "LOCK_ABORTED" });
  for (const name of names) expect(await depth(world, name)).toBe(1);
  await world.clock.advance(1_000);
  await held.release();
  await world.clock.advance(200);
  expect(waiting.value().names).toEqual(names);
});

scenario("LS121 a name counts once, in its stronger mode [L80]", async (world) => {
  const { space } = await world.client();
  const lease = await space.acquireAll([
    { name: "a", mode: "shared" },
    "b",
    { name: "a", mode: "exclusive" },
    "a",
  ]);
  expect(lease.names).toEqual(["a", "b"]);
  expect(lease.mode).toBe("exclusive");
  await lease.release();
  const other = await space.acquireAll(["b", "a"]);
  expect(other.names).toEqual(["b", "a"]);
  expect([other.tokenOf("a"), other.tokenOf("b")]).toEqual([2, 2]);
  expect(() => other.tokenOf("c")).toThrow(/name/u);
});

scenario("LS122 a waiting batch keeps back what conflicts with it alone [L81]", async (world) => {
  const [a, b, c] = [await world.client(), await world.client(), await world.client()];
  const held = await b.space.acquire("b");
  const batch = track(a.space.acquireAll([{ name: "a", mode: "shared" }, { name: "b" }]));
  await world.clock.settle();
  const passing = await c.space.tryAcquire("a", { mode: "shared" }); // L81
  expect(passing).not.toBeNull();
  await passing?.release();
  const behind = track(c.space.acquire("a"));
  await world.clock.advance(2_000);
  expect(behind.state()).toBe("waiting");
  await held.release();
  await world.clock.advance(200);
  await batch.value().release();
  await world.clock.advance(200);
  expect(behind.state()).toBe("resolved");
});

scenario("LS123 a dead batch leaves all its queues at once [L21] [L133] [I15]", async (world) => {
  const [a, b, c] = [await world.client(), await world.client(), await world.client()];
  const held = await b.space.acquire("a", { lease: "5m" });
  const other = await b.space.acquire("b", { lease: "5m" });
  void a.space.acquireAll(["a", "b", "c"], { wait: "5m" }).catch(() => undefined);
  await world.clock.advance(100);
  expect(await world.keys("batch")).toHaveLength(1);
  a.kill();
  await world.clock.advance(20_000);
  const commits = b.engine.commits.length;
  await held.release();
  const [commit] = b.engine.commits.slice(commits);
  expect(commit?.writes.filter(({ value }) => value === null)).toMatchObject([
    { key: ["batch", "default", expect.any(String)] }, // L133
  ]);
  for (const name of ["a", "b", "c"]) expect(await depth(world, name)).toBe(0);
  expect(await c.space.tryAcquire("c")).not.toBeNull();
  await other.release();
});

scenario("LS124 a batch that has lost a part is lost as a whole [L82] [I14]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const lease = await a.space.acquireAll(["a", "b", "c"], { lease: "3s" });
  const forced = await b.space.forceRelease("b", { reason: "stuck" });
  expect(forced.ended).toMatchObject([{ token: lease.tokenOf("b") }]);
  await world.clock.advance(1_100);
  expect(lease.state).toBe("lost"); // L82
  expect(a.told("lost")).toMatchObject([{ name: "a", reason: "forced" }]);
  expect(await holders(world, "c")).toHaveLength(1);
  await lease[Symbol.asyncDispose]();
  for (const name of ["a", "c"]) expect(await holders(world, name)).toEqual([]);
});

scenario("a batch is renewed as one, and its ends stay together [L82] [L43]", async (world) => {
  const { space } = await world.client();
  const lease = await space.acquireAll(["a", "b"], { lease: "3s" });
  await world.clock.advance(10_000);
  expect(lease.state).toBe("held");
  const ends = [await world.record("a"), await world.record("b")].map(
    (record) => record?.grants[0],
  );
  expect(ends[0]?.expiresAt).toBe(ends[1]?.expiresAt);
  await lease.renew("10s");
  expect((await world.record("b"))?.grants[0]?.leaseMs).toBe(10_000);
});

scenario("a batch is confirmed by its waiter in another process [L22] [L23]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const held = await b.space.acquire("a");
  const waiting = a.space.acquireAll(["b", "a"], { lease: "10s" });
  await world.clock.settle();
  await held.release();
  const lease = await within(world.clock, 2_000, waiting);
  for (const name of ["a", "b"]) {
    const [grant] = (await world.record(name))?.grants ?? [];
    expect(grant).toMatchObject({ state: "held", size: 2, leaseMs: 10_000 });
  }
  expect(lease.state).toBe("held");
});

scenario("a batch times out and leaves nothing behind [L26] [L133]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  await b.space.acquire("a", { lease: "5m" });
  const waiting = track(a.space.acquireAll(["b", "a"], { wait: "2s" }));
  await world.clock.advance(2_100);
  expect(waiting.error()).toMatchObject({ code: "LOCK_WAIT_TIMEOUT", denial: { name: "a" } });
  expect([await depth(world, "a"), await depth(world, "b")]).toEqual([0, 0]);
  expect(await world.keys("batch")).toEqual([]);
});

/** Names a lock below two owning locks. */
const under = (...owners: readonly string[]) => ({ owners, wait: 0 });

scenario(
  "LS126 owning locks are held shared, and deny by their name [L84] [L87]",
  async (world) => {
    const [a, b] = [await world.client(), await world.client()];
    const low = await b.space.acquire("c", { owner: "B", owners: ["E", "M", "root"] });
    expect(low.names).toEqual(["c"]);
    expect(await holders(world, "root")).toEqual(["B:shared"]);
    for (const name of ["M", "E"]) {
      const refused = a.space.acquire(name, { wait: 0 });
      await expect(refused).rejects.toMatchObject({
        denial: { holders: [{ owner: "B", for: "c" }] },
      });
    }
    const shared = await a.space.tryAcquire("M", { mode: "shared" });
    expect(shared).not.toBeNull();
    await shared?.release();
    await low.release();
    const high = await b.space.acquire("M", { owner: "B" });
    await expect(a.space.acquire("d", under("M", "root"))).rejects.toMatchObject({
      denial: { name: "d", via: "M", holders: [{ owner: "B" }] }, // L87
    });
    await high.release();
  },
);

scenario(
  "LS127 shared on an owning lock says nothing of those below [L84] [L86]",
  async (world) => {
    const [a, b, c] = [await world.client(), await world.client(), await world.client()];
    await a.space.acquire("M", { mode: "shared" });
    await b.space.acquire("M", { mode: "shared" });
    await a.space.acquire("E1", { owners: ["M"] });
    await b.space.acquire("E2", { owners: ["M"] });
    const shared = { ...under("M"), mode: "shared" } as const;
    await expect(c.space.acquire("E1", shared)).rejects.toMatchObject({ denial: { name: "E1" } });
    await expect(c.space.acquire("M", { wait: 0 })).rejects.toMatchObject({
      denial: { name: "M" },
    });
  },
);

scenario("LS129 locks below one another go in order [L18] [L84] [L86]", async (world) => {
  const [a, b, c] = [await world.client(), await world.client(), await world.client()];
  const owners = { owners: ["a"] };
  const middle = await a.space.acquire("a/b", owners);
  const below = track(b.space.acquire("a/b/c", { owners: ["a/b", "a"] }));
  const beside = await b.space.acquire("a/d", owners);
  expect(await b.space.tryAcquire("a/bb", owners)).not.toBeNull();
  expect(await b.space.tryAcquire("a", { mode: "shared" })).not.toBeNull();
  const top = track(c.space.acquire("a"));
  await world.clock.settle();
  const late = track(b.space.acquire("a/e", owners));
  await world.clock.advance(1_000);
  expect([below, top, late].map((each) => each.state())).toEqual(["waiting", "waiting", "waiting"]);
  await middle.release();
  await world.clock.advance(1_000);
  expect(below.state()).toBe("resolved");
  expect(late.state()).toBe("waiting"); // L18: behind the exclusive request on a.
  await beside.release();
  expect(top.state()).toBe("waiting");
});

scenario("LS130 an owning lock lapses: those below go in as a group [L19]", async (world) => {
  const a = await world.client();
  await a.space.acquire("M", { lease: "5s", renew: "manual" });
  const others = await Promise.all(Array.from({ length: 50 }, () => world.client()));
  const calls = [];
  for (const [index, { space }] of others.entries()) {
    calls.push(space.acquire(`E${index}`, { owners: ["M"], wait: "1m", owner: `p${index}` }));
    await world.clock.settle();
  }
  await world.clock.advance(4_000);
  const leases = await within(world.clock, 2_000, Promise.all(calls)); // L19: within 1 s.
  const tokens = leases.map((lease) => lease.tokenOf("M"));
  expect(tokens).toEqual(tokens.toSorted((one, other) => one - other));
});

scenario("LS165 a free name below a crowded root costs its own records [L132]", async (world) => {
  const [a, b, c] = [await world.client(), await world.client(), await world.client()];
  const held: Awaited<ReturnType<Client["space"]["acquire"]>>[] = [];
  const waiting = [];
  const count = world.engine === "memory" ? 300 : 60;
  for (let index = 0; index < count; index += 1) {
    held.push(await a.space.acquire(`n${index}`, { owners: ["root"], lease: "5m" }));
  }
  for (let index = 0; index < count; index += 1) {
    waiting.push(track(b.space.acquire(`n${index}`, { owners: ["root"], wait: "5m" })));
    await world.clock.settle();
  }
  const before = c.engine.commits.length;
  await c.space.acquire("free", { owners: ["root"] });
  const [commit, ...more] = c.engine.commits.slice(before);
  expect(more).toEqual([]);
  expect(commit?.writes.map(({ key }) => key[0])).toEqual(["lock", "lock"]); // L132
  const some = count - 20;
  await held[some]?.release();
  await world.clock.advance(1_000);
  expect(waiting[some]?.state()).toBe("resolved");
  expect(waiting.filter((each) => each.state() === "resolved")).toHaveLength(1);
});

scenario("LS13 a list of requests that is none is refused by position [L7]", async (world) => {
  const { space, engine } = await world.client();
  const calls = engine.calls;
  const odd = { toString: () => "n" };
  const bad: readonly [unknown, number | undefined][] = [
    ["my-lock", undefined],
    [null, undefined],
    [[], undefined],
    [["a", undefined], 1],
    [5, undefined],
    [[["a"]], 0],
    [["a", odd], 1],
    // oxlint-disable-next-line no-sparse-arrays -- a hole is what is to be refused
    [["a", , "b"], 1],
    [["a", "b\n"], 1],
    [[{ name: "a" }, { name: 7 }], 1],
  ];
  for (const [requests, position] of bad) {
    const facts = position === undefined ? {} : { position };
    const refused = { code: "INVALID_ARGUMENT", ...facts };
    await expect(space.acquireAll(requests as never)).rejects.toMatchObject(refused); // L7
    await expect(space.tryAcquireAll(requests as never)).rejects.toMatchObject(refused);
  }
  for (const owners of [
    "E",
    ["E", "E"],
    ["n"],
    [7],
    Array.from({ length: 65 }, (_, i) => `o${i}`),
  ]) {
    const refused = space.acquire("n", { owners: owners as never });
    await expect(refused).rejects.toMatchObject({ code: "INVALID_ARGUMENT", parameter: "owners" });
  }
  expect(engine.calls).toBe(calls);
});

scenario("a batch above the engine's limit is refused before any traffic [L83]", async (world) => {
  const capabilities = { keysPerCommitMax: 128 };
  const { space, engine } = await world.client({}, { capabilities });
  const names = Array.from({ length: 34 }, (_, index) => `n${index}`);
  const calls = engine.calls;
  const tooLarge = { code: "BATCH_TOO_LARGE", value: "34", limit: 33 }; // L83
  await expect(space.acquireAll(names)).rejects.toMatchObject(tooLarge);
  const withOwner = [...names.slice(0, 32), { name: "m", owners: ["root"] }];
  await expect(space.acquireAll(withOwner)).rejects.toMatchObject(tooLarge);
  expect(engine.calls).toBe(calls);
  const lease = await space.acquireAll(names.slice(0, 33));
  expect(lease.names).toHaveLength(33);
  expect(await lease.release()).toBe(true);
});

/** A path lies below its beginnings, nearest first. */
function ownersOf(name: string): readonly string[] {
  const parts = name.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, parts.length - index).join("/"));
}

scenario("owning locks that the space knows of need not be named [L84]", async (world) => {
  const [a, b] = [await world.client({ ownersOf }), await world.client({ ownersOf })];
  const lease = await a.space.acquire("root/M/E");
  expect(lease.names).toEqual(["root/M/E"]);
  expect(await holders(world, "root")).toHaveLength(1);
  expect(await b.space.tryAcquire("root/M")).toBeNull();
  expect(await b.space.tryAcquire("root/N")).not.toBeNull();
});
