import { expect } from "vitest";

import type { LockEvent } from "../../src/lock/views-api.ts";
import { storedGrant, storedLock, storedTicket } from "./records.ts";
import { rejection } from "./settling.ts";
import { scenario, track, within, type World } from "./world.ts";

const name = "n";

/** Reads a watch on, and keeps what it has told so far. */
function follow(events: AsyncIterable<LockEvent>): LockEvent[] {
  const told: LockEvent[] = [];
  void (async () => {
    for await (const event of events) told.push(event);
  })();
  return told;
}

/** A lock whose holder has lapsed while another process's ticket waits. */
async function putLapsed(world: World): Promise<void> {
  const now = await world.now();
  await world.put(["presence", "default", "stored-presence"], {
    v: 1,
    actor: { host: "stored", pid: 1 },
    aliveUntil: now + 300_000,
    spanMs: 300_000,
  });
  const lapsed = storedGrant(now - 60_000, { token: 4 });
  await world.put(
    ["lock", "default", name],
    storedLock({
      counter: 4,
      nextTicket: 2,
      grants: [lapsed],
      queue: [storedTicket(now, 1)],
      touchedAt: now - 60_000,
    }),
  );
}

scenario("LS149 looking at a lapsed lock changes nothing [L107]", async (world) => {
  const { space, engine } = await world.client();
  await putLapsed(world);
  const before = await world.record(name);
  const commits = engine.commits.length;
  const stop = new AbortController();
  const told = follow(space.watch(name, { signal: stop.signal }));
  for (let i = 0; i < 100; i += 1) {
    const status = await space.status(name);
    expect(status).toMatchObject({ state: "lapsed", token: 0, depth: 1, authoritative: false });
    const { locks } = await space.list();
    expect(locks).toMatchObject([{ name, state: "lapsed", authoritative: false }]);
    const why = await space.why(name);
    expect(why).toMatchObject({ earliestAt: null, status: { authoritative: false } });
    for await (const entry of space.history()) expect(entry).toBeUndefined();
    await world.clock.advance(20);
  }
  stop.abort();
  expect(told.map(({ type, token, depth }) => ({ type, token, depth }))).toEqual([
    { type: "lapsed", token: 0, depth: 1 },
  ]);
  expect(await world.record(name)).toEqual(before);
  expect(engine.commits).toHaveLength(commits);
  expect(await space.status("untouched")).toMatchObject({ state: "free", token: 0, depth: 0 });
  expect(await world.keys("lock")).toEqual([["lock", "default", name]]);
});

scenario("LS150 a list shows every steady lock exactly once [L108]", async (world) => {
  const [reader, user] = [await world.client(), await world.client()];
  const steady = Array.from({ length: 2_450 }, (_, i) => `lock/${String(i).padStart(5, "0")}`);
  const changing = Array.from({ length: 50 }, (_, i) => `lock/${String(i * 50).padStart(5, "0")}+`);
  const touchedAt = await world.now();
  for (const each of steady) {
    await world.put(["lock", "default", each], storedLock({ counter: 1, touchedAt }));
  }
  const seen: string[] = [];
  let cursor: string | undefined;
  let turn = 0;
  do {
    const page = await reader.space.list({ prefix: "lock/", limit: 100, cursor });
    expect(page.locks.length).toBeLessThanOrEqual(100);
    seen.push(...page.locks.map((lock) => lock.name));
    cursor = page.next;
    // Some come and some go between two pages, before and behind the cursor.
    await user.space.acquire(changing[turn % 50] as string);
    await world.put(["lock", "default", changing[(turn * 7 + 25) % 50] as string], null);
    turn += 1;
  } while (cursor !== undefined);
  const counts = new Map<string, number>();
  for (const each of seen) counts.set(each, (counts.get(each) ?? 0) + 1);
  expect(steady.filter((each) => counts.get(each) !== 1)).toEqual([]);
  expect([...counts.values()].filter((count) => count > 1)).toEqual([]);
});

scenario("LS151 why tells holders, queue and the earliest instant [L28] [L107]", async (world) => {
  const [a, b, c] = [await world.client(), await world.client(), await world.client()];
  const held = await a.space.acquire(name, { owner: "alice", note: "nightly build" });
  const second = track(b.space.acquire(name, { owner: "bob", wait: "1m" }));
  await world.clock.settle();
  const third = track(c.space.acquire(name, { owner: "carol", mode: "shared", wait: "1m" }));
  await world.clock.settle();
  const why = await c.space.why(name);
  expect(why.status).toMatchObject({
    state: "held",
    token: 1,
    depth: 2,
    holders: [
      {
        owner: "alice",
        actor: { host: "host-1", pid: 1 },
        mode: "exclusive",
        token: 1,
        since: held.grantedAt,
        expiresAt: held.expiresAt,
        kind: "lease",
        state: "held",
        note: "nightly build",
      },
    ],
    queue: [
      { position: 0, owner: "bob", mode: "exclusive", since: held.grantedAt },
      { position: 1, owner: "carol", mode: "shared", since: held.grantedAt },
    ],
  });
  expect(why.earliestAt).toBe(held.expiresAt);
  const text = why.because.join("\n");
  const since = new Date(held.grantedAt).toISOString();
  const until = new Date(held.expiresAt).toISOString();
  for (const part of ["alice", "token 1", since, until, "nightly build", "2 requests", "bob"]) {
    expect(text).toContain(part);
  }
  await held.release();
  await world.clock.advance(200);
  // The chain goes on: C waits for B now.
  const next = await c.space.why(name);
  expect(next.because.join("\n")).toMatch(/bob.*token 2[^]*carol/u);
  expect([second.state(), third.state()]).toEqual(["resolved", "waiting"]);
});

scenario("LS151 why of lapsed, delayed and free locks [L107]", async (world) => {
  const { space } = await world.client();
  await space.acquire("lapsed", { lease: "1s", renew: "manual" });
  const delayed = await space.acquire("delayed", {
    lease: "1s",
    renew: "manual",
    lockDelay: "30s",
  });
  await world.clock.advance(2_000);
  expect(await space.why("lapsed")).toMatchObject({ because: [], earliestAt: null });
  expect(await space.why("free")).toMatchObject({
    because: [],
    earliestAt: null,
    status: { state: "free", token: 0, depth: 0, holders: [], queue: [] },
  });
  const why = await space.why("delayed");
  expect(why.because.join()).toMatch(/lock-delay/u);
  expect(why.earliestAt).toBe(delayed.expiresAt + 30_000);
});

scenario("LS152 a watch skips states but no token count [L109]", async (world) => {
  const [a, watcher] = [await world.client(), await world.client()];
  const stop = new AbortController();
  const told = follow(watcher.space.watch(name, { signal: stop.signal }));
  await world.clock.settle();
  for (let i = 0; i < 50; i += 1) {
    const lease = await a.space.acquire(name);
    if (i % 7 === 0) await world.clock.advance(100);
    await lease.release();
  }
  await world.clock.advance(2_000);
  stop.abort();
  expect(told[0]).toMatchObject({ type: "free", token: 0, skipped: 0 });
  const tokens = told.map(({ token }) => token).filter((token) => token > 0);
  expect(tokens.length).toBeGreaterThanOrEqual(8);
  expect(tokens).toEqual(tokens.toSorted((one, other) => one - other));
  let counter = 0;
  for (const event of told) {
    // What was skipped, and the token shown unless it was shown before, add up to all.
    if (event.token > counter) expect(event.token).toBe(counter + event.skipped + 1);
    counter = Math.max(counter + event.skipped, event.token);
  }
  const news = told.filter(({ token }, index) => token > (told[index - 1]?.token ?? 0)).length;
  const skipped = told.reduce((sum, event) => sum + event.skipped, 0);
  expect(skipped + news).toBe(50);
});

scenario("LS156 no output shows the lease id of another [L66]", async (world) => {
  const [a, b] = [await world.client({ audit: "all" }), await world.client({ audit: "all" })];
  const admin = await world.client({ audit: "all" });
  const outputs: unknown[] = [];
  const stop = new AbortController();
  const told = follow(admin.space.watch({ prefix: "" }, { signal: stop.signal }));
  const ids = new Set<string>();
  const collect = async (): Promise<void> => {
    for (const each of [name, "claimed"]) {
      const record = await world.record(each);
      for (const { id } of record?.grants ?? []) ids.add(id);
      for (const { id } of record?.queue ?? []) ids.add(id);
      for (const { id } of record?.ended ?? []) ids.add(id);
    }
  };
  const held = await a.space.acquire(name, { note: "work" });
  const refused = (denial: unknown): unknown => outputs.push(denial);
  expect(await b.space.tryAcquire(name, { refused })).toBeNull();
  const waiting = track(b.space.acquire(name, { wait: "1m" }));
  await world.clock.advance(11_000);
  await collect();
  outputs.push(await within(world.clock, 2_000, rejection(admin.space.acquire(name, { wait: 1 }))));
  outputs.push(await rejection(admin.space.acquire(name, { wait: 0 })));
  outputs.push(await admin.space.status(name), await admin.space.list());
  outputs.push(await admin.space.why(name), held.toJSON(), JSON.stringify(held));
  outputs.push(await admin.space.forceRelease(name, { reason: "stuck" }));
  await world.clock.advance(200);
  await collect();
  outputs.push(await rejection(held.renew()), waiting.value().toJSON());
  await admin.space.tryClaim("claimed", "me");
  outputs.push(await admin.space.status("claimed"));
  for await (const entry of admin.space.history()) outputs.push(entry);
  stop.abort();
  outputs.push(...told, ...[a, b, admin].flatMap(({ events }) => events));
  await collect();
  expect(ids.size).toBeGreaterThanOrEqual(3);
  expect(ids.has(held.leaseId)).toBe(true);
  const text = outputs.map((output) => `${String(output)} ${everything(output)}`).join("\n");
  expect(outputs.length).toBeGreaterThan(20);
  expect([...ids].filter((id) => text.includes(id))).toEqual([]);
});

/** A value with all its members, those of errors and their causes included, as text. */
function everything(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (!(member instanceof Error)) return member;
    const { message, stack, cause } = member;
    return { facts: Object.entries(member), message, stack, cause };
  });
}
