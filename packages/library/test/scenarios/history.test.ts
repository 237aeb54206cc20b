import { expect } from "vitest";

import type { HistoryEntry } from "../../src/lock/views-api.ts";
import type { Lease } from "../../src/lock/lease-api.ts";
import { scenario, within, type Client, type World } from "./world.ts";

const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"] as const;
const starts = new Set(["granted", "claimed", "resumed"]);

/** A small source of chance that a seed makes repeatable. */
function chanceOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Scene {
  readonly world: World;
  readonly chance: (below: number) => number;
  readonly clients: Client[];
  readonly held: Lease[];
  opened: number;
}

const settings = { audit: "all", retention: "1s", callTimeout: "100ms" } as const;

async function reopen(scene: Scene, index: number): Promise<void> {
  scene.clients[index]?.kill();
  scene.clients[index] = await scene.world.client(settings);
  scene.opened += 1;
}

/** What one step of the run does; each is picked as often as it stands here. */
const steps: readonly ((scene: Scene, client: Client, name: string) => Promise<unknown>)[] = [
  grab,
  grab,
  grab,
  grab,
  giveBack,
  giveBack,
  async (_scene, { space }, name) => space.forceRelease(name, { reason: "chance" }),
  async (_scene, { space }, name) => space.tryClaim(name, "claimer", { lease: "1s" }),
  async ({ held }, { space }, name) => {
    const lease = await space.resume(name, "claimer", { renew: "manual" });
    if (lease !== null) held.push(lease);
  },
  async (_scene, { space }, name) => space.releaseClaim(name, "claimer"),
  waitOrAbort,
  async ({ world }) => world.clock.advance(700),
];

/** Tries one lock; now and then the reply is lost. */
async function grab(scene: Scene, client: Client, name: string): Promise<void> {
  const { world, chance, held } = scene;
  if (chance(10) === 0) client.engine.failNext({ kind: "unknown-applied" });
  const mode = chance(3) === 0 ? "shared" : "exclusive";
  const lease = await within(
    world.clock,
    5_000,
    client.space.tryAcquire(name, { mode, lease: 200 + chance(2_000), renew: "manual" }),
  );
  if (lease !== null) held.push(lease);
}

/** Waits for a lock, or gives up when the grant may be stored although its reply was lost. */
async function waitOrAbort(scene: Scene, { space, engine }: Client, name: string): Promise<void> {
  const { world, held, chance } = scene;
  const stop = new AbortController();
  const isAborted = chance(2) === 0;
  if (isAborted) engine.failNext({ kind: "unknown-applied" });
  const waiting = space.acquire(name, { signal: stop.signal, wait: 500, renew: "manual" });
  const settled = waiting.catch(() => null);
  if (isAborted) await world.clock.settle();
  if (isAborted) stop.abort();
  const lease = await within(world.clock, 3_000, settled);
  if (lease !== null) held.push(lease);
}

/** Releases one of the leases; one of a dead client ends by itself. */
async function giveBack({ world, held, chance }: Scene): Promise<void> {
  const [lease] = held.splice(chance(held.length), 1);
  if (lease === undefined) return;
  await within(
    world.clock,
    1_000,
    lease.release().catch(() => false),
  );
}

async function readAll(events: AsyncIterable<HistoryEntry>): Promise<readonly HistoryEntry[]> {
  const entries: HistoryEntry[] = [];
  for await (const entry of events) entries.push(entry);
  return entries;
}

scenario("LS154 the history tells every grant and every end once [L112]", async (world) => {
  const seed = 20_301;
  const scene: Scene = {
    world,
    chance: chanceOf(seed),
    clients: [],
    held: [],
    opened: 0,
  };
  for (let i = 0; i < 3; i += 1) await reopen(scene, i);
  const count = world.engine === "memory" ? 5_000 : 500;
  const reader = await world.client(settings);
  const minted = new Set<string>();
  for (let step = 0; minted.size < count; step += 1) {
    const index = scene.chance(3);
    const name = names[scene.chance(names.length)] as string;
    const client = scene.clients[index] as Client;
    const act = steps[scene.chance(steps.length)] as (typeof steps)[number];
    await act(scene, client, name);
    for (const each of scene.clients) noteCommits(each, minted);
    noteCommits(reader, minted);
    if (step % 200 === 199) await reopen(scene, index); // A crash, and a new start.
    if (step % 500 === 499) await sweepAll(scene, reader);
  }
  await world.clock.advance(1_000);
  for (const each of [...scene.clients, reader]) noteCommits(each, minted);
  const entries = await readAll(reader.space.history());
  const started = entries.filter(({ kind }) => starts.has(kind)).map(tokenOf);
  const ended = entries.filter(({ kind }) => !starts.has(kind)).map(tokenOf);
  expect(started.length, `seed ${seed}`).toBe(minted.size);
  expect(new Set(started)).toEqual(minted); // Each grant once, ...
  expect(new Set(ended).size).toBe(ended.length); // ... and each end once.
  const live: string[] = [];
  for (const name of names) {
    const grants = (await world.record(name))?.grants ?? [];
    live.push(...grants.map(({ token }) => `${name} ${token}`));
  }
  expect(new Set([...ended, ...live])).toEqual(new Set(started)); // granted = ends + live.
  expect(ended.length + live.length).toBe(started.length);
  const kinds = new Set(entries.map(({ kind }) => kind));
  for (const kind of ["granted", "claimed", "resumed", "released", "reclaimed", "forced"]) {
    expect(kinds).toContain(kind);
  }
  for (const kind of ["superseded", "cancelled"]) expect(kinds).toContain(kind);
});

const tokenOf = ({ name, token }: HistoryEntry): string => `${name} ${token}`;

/** Lets idle records be swept, and their locks begin anew above the floor. */
async function sweepAll({ world }: Scene, { space }: Client): Promise<void> {
  await world.clock.advance(4_000);
  await space.sweep();
}

/**
 * Takes the new grants out of what was committed since; each stands in its commit's audit, under
 * the one record of its lock (L112).
 */
function noteCommits({ engine }: Client, minted: Set<string>): void {
  for (const { writes } of engine.commits) {
    for (const { key, value } of writes) {
      if (key[0] !== "lock" || value === null) continue;
      const name = key[2] as string;
      const { grants } = value as unknown as { readonly grants: readonly { token: number }[] };
      const audits = writes.filter((write) => write.key[0] === "audit" && write.key[3] === name);
      expect(audits.length).toBeLessThanOrEqual(1);
      const audited = JSON.stringify(audits.map((write) => write.value));
      const fresh = grants.filter(({ token }) => !minted.has(`${name} ${token}`));
      for (const { token } of fresh) {
        expect(audited).toContain(`"token":${token},`);
        minted.add(`${name} ${token}`);
      }
    }
  }
  engine.commits.length = 0;
}

scenario("LS154 exceptions only are kept by default, nothing when off [L112]", async (world) => {
  const [standard, off] = [await world.client(), await world.client({ audit: "off" })];
  for (const { space } of [standard, off]) {
    await (await space.acquire("n")).release();
    await space.acquire("n", { lease: "1s", renew: "manual" });
    await world.clock.advance(2_000);
    await (await space.acquire("n")).release();
    await space.acquire("n");
    await world.clock.advance(1);
    await space.forceRelease("n", { reason: "why" });
  }
  const entries = await readAll(standard.space.history());
  const told = entries.map(({ kind, token }) => `${kind} ${token}`);
  expect(told).toEqual(["reclaimed 2", "forced 4"]); // Of the second client nothing.
  const [, forced] = entries;
  expect(forced).toMatchObject({
    owner: expect.stringContaining("host-1"),
    actor: { host: "host-1", pid: 1 },
    mode: "exclusive",
    by: { host: "host-1", pid: 1 },
    reason: "why",
    at: expect.any(Number),
  });
  const since = forced?.at ?? 0;
  expect(await readAll(standard.space.history({ since }))).toEqual([forced]);
  expect(await readAll(standard.space.history({ kinds: ["reclaimed"] }))).toHaveLength(1);
  expect(await readAll(standard.space.history({ name: "m" }))).toEqual([]);
});
