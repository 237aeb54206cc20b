import { expect } from "vitest";

import type { LockRecord } from "../../src/core/lock/record.ts";
import { scenario, track, within, type Client, type World } from "./world.ts";

async function clients(world: World, count: number): Promise<readonly Client[]> {
  const made: Client[] = [];
  for (let i = 0; i < count; i += 1) made.push(await world.client());
  return made;
}

scenario("LS110 shared holders share, the last release frees [L73]", async (world) => {
  const eight = await clients(world, 8);
  const leases = await Promise.all(
    eight.map(({ space }) => space.acquire("n", { mode: "shared" })),
  );
  expect(new Set(leases.map(({ token }) => token))).toEqual(new Set([1, 2, 3, 4, 5, 6, 7, 8]));
  for (const lease of leases) lease.assertHeld();
  expect(await world.status("n")).toMatchObject({ state: "shared", mode: "shared", token: 8 });
  const [other] = await clients(world, 1);
  for (const lease of leases) {
    expect(await other?.space.tryAcquire("n")).toBeNull(); // L73: exclusive with nothing.
    expect(await lease.release()).toBe(true);
  }
  expect(await world.status("n")).toMatchObject({ state: "free", token: 0 });
  expect((await other?.space.tryAcquire("n"))?.token).toBe(9);
});

scenario("LS111 shared requests in a loop do not starve an exclusive one [L18]", async (world) => {
  const { clock } = world;
  const [x, ...loopers] = await clients(world, 21);
  const leases: { token: number; grantedAt: number }[] = [];
  const over = new AbortController();
  const loop = async ({ space }: Client): Promise<void> => {
    while (!over.signal.aborted) {
      const lease = await space.acquire("n", { mode: "shared", wait: "10s" });
      leases.push({ token: lease.token, grantedAt: lease.grantedAt });
      await new Promise<void>((resume) => {
        clock.timer(50, resume);
      });
      await lease.release();
    }
  };
  const loops = loopers.map((client) => loop(client));
  await clock.advance(200);
  const asked = await world.now();
  const granted = await within(clock, 600, (x as Client).space.acquire("n", { wait: "10s" }));
  expect(granted.grantedAt - asked).toBeLessThan(500);
  await clock.advance(300);
  const later = leases.filter(({ grantedAt }) => grantedAt > asked);
  expect(later).toEqual([]); // L18: those that came later wait behind it.
  await granted.release();
  await clock.advance(300);
  const after = leases.filter(({ token }) => token > granted.token);
  expect(after.length).toBeGreaterThanOrEqual(20);
  over.abort();
  await within(clock, 10_000, Promise.all(loops));
});

scenario("LS112 a shared request waits behind an exclusive one [L18]", async (world) => {
  const [a, b, x, late] = await clients(world, 4);
  const first = await (a as Client).space.acquire("n", { mode: "shared" });
  const second = await (b as Client).space.acquire("n", { mode: "shared" });
  const exclusive = track((x as Client).space.acquire("n", { wait: "1m" }));
  await world.clock.settle();
  const shared = track((late as Client).space.acquire("n", { mode: "shared", wait: "1m" }));
  await world.clock.settle();
  expect(await (a as Client).space.tryAcquire("n", { mode: "shared" })).toBeNull();
  await first.release();
  await world.clock.advance(200);
  expect(exclusive.state()).toBe("waiting");
  await second.release();
  await world.clock.advance(200);
  expect(exclusive.value().token).toBe(3);
  expect(shared.state()).toBe("waiting");
  await exclusive.value().release();
  await world.clock.advance(200);
  expect(shared.value()).toMatchObject({ token: 4, mode: "shared" });
});

scenario("LS113 shared tickets at the head are granted in one commit [L19]", async (world) => {
  const [holder, s1, s2, x3, s4] = await clients(world, 5);
  const held = await (holder as Client).space.acquire("n");
  const waiting = [];
  for (const client of [s1, s2, x3, s4]) {
    const mode = client === x3 ? "exclusive" : "shared";
    waiting.push(track((client as Client).space.acquire("n", { mode, wait: "1m" })));
    await world.clock.settle();
  }
  const commits = (holder as Client).engine.commits.length;
  await held.release();
  const [commit, ...more] = (holder as Client).engine.commits.slice(commits);
  expect(more).toEqual([]);
  const written = commit?.writes.find(({ key }) => key[0] === "lock")?.value;
  const record = written as unknown as LockRecord;
  expect(record.grants.map(({ token, mode }) => `${token} ${mode}`)).toEqual([
    "2 shared",
    "3 shared",
  ]);
  expect(record.queue.map(({ mode }) => mode)).toEqual(["exclusive", "shared"]);
  await world.clock.advance(200);
  expect(waiting.map(({ state }) => state())).toEqual([
    "resolved",
    "resolved",
    "waiting",
    "waiting",
  ]);
});

scenario("LS114 a lapsed shared holder keeps nobody out [L14]", async (world) => {
  const [a, b, x] = (await clients(world, 3)) as [Client, Client, Client];
  const lapsing = await a.space.acquire("n", { mode: "shared", lease: "5s", renew: "manual" });
  const held = await b.space.acquire("n", { mode: "shared" });
  a.kill();
  const waiting = track(x.space.acquire("n", { wait: "5m" }));
  await world.clock.advance(lapsing.expiresAt + 10_000 - (await world.now()));
  expect(waiting.state()).toBe("waiting"); // B holds on.
  expect(await held.release()).toBe(true);
  await world.clock.advance(200);
  expect(waiting.value().token).toBe(3);
  expect((await world.record("n"))?.grants).toMatchObject([{ token: 3, mode: "exclusive" }]);
  expect(b.told("reclaimed")).toMatchObject([{ token: 1, owner: lapsing.owner }]); // L14: once.
  expect(x.told("reclaimed")).toEqual([]);
});
