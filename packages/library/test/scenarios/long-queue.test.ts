import { expect } from "vitest";

import type { Lease } from "../../src/lock/lease-api.ts";
import { storedGrant, storedLock, storedTicket } from "./records.ts";
import { scenario, track, within, type Client, type World } from "./world.ts";

scenario("LS158 starts that were killed while waiting delay nobody [L21] [L28]", async (world) => {
  const failing = await world.client();
  const start = { owner: "job at web-1", note: "import" };
  const held = await failing.space.acquire("n", start);
  failing.kill(); // The work has failed with its process.
  const blocked: Client[] = [];
  for (let i = 0; i < 5; i += 1) {
    const client = await world.client();
    void client.space.acquire("n", { wait: "10m" }).catch(() => undefined);
    await world.clock.advance(1_000);
    // L28: the blocked start names holder, start and end.
    expect(client.told("waiting")[0]).toMatchObject({
      name: "n",
      denial: {
        holders: [{ owner: "job at web-1", note: "import", since: held.grantedAt }],
        until: held.expiresAt,
        position: i,
      },
    });
    client.kill();
    blocked.push(client);
  }
  await world.clock.advance(31_000);
  const sixth = await world.client();
  const lease = await sixth.space.tryAcquire("n", start);
  expect(lease?.token).toBe(2); // L21: at once, past five dead tickets.
  expect((await world.record("n"))?.queue).toEqual([]);
  expect(blocked.map((client) => client.told("acquired").length)).toEqual([0, 0, 0, 0, 0]);
});

interface Line {
  readonly world: World;
  readonly clients: readonly [Client, Client];
  readonly granted: Lease[];
  /** Codes with which calls were rejected. */
  readonly codes: readonly unknown[];
}

/** Lets two processes queue in turn on one name, behind a holder, which is the first granted. */
async function queueUp(world: World, waiters: number): Promise<Line> {
  const clients = [await world.client(), await world.client()] as const;
  const granted: Lease[] = [await clients[0].space.acquire("n", { lease: "5m", renew: "manual" })];
  const codes: unknown[] = [];
  const fail = (error: unknown): number => codes.push((error as { code?: unknown }).code);
  for (let i = 0; i < waiters; i += 1) {
    const { space } = clients[i % 2] as Client;
    const options = { wait: "1h", lease: "5m", renew: "manual", note: String(i) } as const;
    space.acquire("n", options).then((lease) => granted.push(lease), fail);
    // The order of the enqueues is the order of the tickets.
    if (i % 50 === 0 || world.engine === "sqlite") await world.clock.settle();
  }
  await world.clock.settle();
  return { world, clients, granted, codes };
}

/** Hands over `count` times; the bytes that each release and its confirmation wrote. */
async function handOver(line: Line, count: number): Promise<readonly number[]> {
  const { world, clients, granted } = line;
  const written = (): number =>
    clients
      .flatMap(({ engine }) => engine.commits)
      .flatMap(({ writes }) => writes)
      .filter(({ key }) => key[0] !== "presence")
      .reduce((sum, { value }) => sum + JSON.stringify(value).length, 0);
  const bytes: number[] = [];
  for (let i = 0; i < count; i += 1) {
    for (const { engine } of clients) engine.commits.length = 0;
    const before = granted.length;
    await granted.at(-1)?.release();
    for (let ms = 0; granted.length === before && ms < 300; ms += 10) await world.clock.advance(10);
    expect(granted).toHaveLength(before + 1);
    bytes.push(written());
  }
  return bytes;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

scenario("LS159 a hand-over costs the same in any queue [L126] [L18]", async (world) => {
  // A file takes longer to fill; real processes queue up in full on it.
  const deep = world.engine === "memory" ? 10_000 : 1_000;
  const short = await queueUp(world, 100);
  const ofShort = await handOver(short, 60);
  await Promise.all(short.clients.map(({ space }) => within(world.clock, 5_000, space.close())));
  expect(new Set(short.codes)).toEqual(new Set(["SPACE_CLOSED"]));
  const long = await queueUp(world, deep);
  expect((await long.clients[0].space.status("n")).depth).toBe(deep);
  const ofLong = await handOver(long, 100);
  expect(mean(ofLong)).toBeLessThanOrEqual(1.1 * mean(ofShort)); // L126: no more bytes.
  expect(mean(ofLong)).toBeGreaterThan(100);
  const tokens = long.granted.map(({ token }) => token);
  expect(tokens).toEqual(tokens.map((_, i) => (tokens[0] as number) + i));
  // L18: in ticket order without exception, two processes in turn.
  const record = await world.record("n");
  const last = record?.grants[0];
  expect(last?.note).toBe(String(long.granted.length - 2));
  expect(long.codes).toEqual([]);
});

scenario("LS159 a whole line is served in its order, to the last [L18] [L126]", async (world) => {
  const count = world.engine === "memory" ? 300 : 100;
  const line = await queueUp(world, count);
  const owners: (string | undefined)[] = [];
  for (let i = 0; i < count; i += 1) {
    await handOver(line, 1);
    owners.push((await world.record("n"))?.grants[0]?.note);
  }
  expect(owners).toEqual(Array.from({ length: count }, (_, i) => String(i)));
  expect(await world.keys("queue")).toEqual([]);
  const end = await world.record("n");
  expect(end?.queue).toEqual([]);
  expect(end?.pages).toBeUndefined();
});

/** A free lock with dead tickets of as many processes, as a crash of all of them leaves it. */
async function putDeadTickets(world: World, count: number): Promise<void> {
  const now = await world.now();
  const queue = Array.from({ length: count }, (_, index) =>
    storedTicket(now, index + 1, { presence: `dead-${index}` }),
  );
  await world.put(
    ["lock", "default", "n"],
    storedLock({ counter: 3, nextTicket: count + 1, queue, touchedAt: now }),
  );
}

scenario("LS167 a try passes 200 dead tickets [L10] [L21] [L131]", async (world) => {
  const { space } = await world.client();
  await putDeadTickets(world, 200);
  const lease = await space.tryAcquire("n");
  expect(lease?.token).toBe(4); // L10: not answered before the dead ones are gone.
  expect(await world.record("n")).toMatchObject({ queue: [], grants: [{ token: 4 }] });
});

scenario("LS167 a final decision passes 200 dead tickets [L21] [L26] [L131]", async (world) => {
  const [holder, b] = [await world.client(), await world.client()];
  const held = await holder.space.acquire("n", { lease: "5m", renew: "manual" });
  const before = await world.now();
  const waiting = track(b.space.acquire("n", { wait: "1500ms", renew: "manual" }));
  await world.clock.advance(1_400);
  const record = await world.record("n");
  const own = record?.queue[0];
  const dead = Array.from({ length: 200 }, (_, index) =>
    storedTicket(before, index + 1, { presence: `dead-${index}` }),
  );
  await world.put(
    ["lock", "default", "n"],
    storedLock({
      counter: held.token,
      nextTicket: 202,
      queue: [...dead, { ...own, number: 201 } as (typeof dead)[number]],
      touchedAt: before,
    }),
  );
  await world.clock.advance(99);
  expect(waiting.state()).toBe("waiting"); // It has not looked since.
  await world.clock.advance(1_001);
  expect(waiting.value().token).toBe(held.token + 1);
  expect((await world.record("n"))?.queue).toEqual([]);
});

/** How a waiter finds the lock free, although its presence is over by then. */
const finds: readonly { by: string; wait: string }[] = [
  { by: "look", wait: "5m" },
  { by: "final decision", wait: "41s" },
];

for (const { by, wait } of finds) {
  scenario(`LS176 a waiter's own ${by} keeps its ticket [L17] [L21]`, async (world) => {
    const [holder, b] = [await world.client(), await world.client()];
    const held = await holder.space.acquire("n", { lease: "40s", renew: "manual" });
    holder.kill();
    const waiting = track(b.space.acquire("n", { wait }));
    await world.clock.settle();
    const [ticket] = (await world.record("n"))?.queue ?? [];
    // No renewal of the presence reaches the store, and, for the final decision, no look either.
    b.engine.fault = ({ keys }) => {
      const isPresence = keys[0]?.[0] === "presence";
      const isEarly = world.clock.monotonicMs() < startMs + 41_000;
      return { kind: isPresence || (by !== "look" && isEarly) ? "drop" : "pass" };
    };
    const startMs = world.clock.monotonicMs();
    await world.clock.advance(39_000);
    const presence = await world.stored(["presence", "default", ticket?.presence ?? ""]);
    expect((presence as { aliveUntil: number }).aliveUntil).toBeLessThan(await world.now());
    expect((await world.record("n"))?.queue).toMatchObject([{ id: ticket?.id, number: 1 }]);
    await world.clock.advance(3_000);
    expect(waiting.value()).toMatchObject({ token: 2, leaseId: ticket?.id });
    expect(waiting.value().grantedAt).toBeGreaterThanOrEqual(held.expiresAt);
    expect(b.told("ticketLost")).toEqual([]);
  });
}

scenario("LS177 one holder too many waits, and others behind it [L134]", async (world) => {
  const [b, c] = [await world.client(), await world.client()];
  const now = await world.now();
  const grants = Array.from({ length: 999 }, (_, index) =>
    storedGrant(now, {
      id: `holder-${index}`,
      token: index + 1,
      mode: "shared",
      expiresAt: now + 300_000,
      spanMs: 300_000,
    }),
  );
  await world.put(["lock", "default", "n"], storedLock({ counter: 999, grants, touchedAt: now }));
  const mode = "shared";
  const last = await b.space.acquire("n", { mode, renew: "manual", lease: "5m" });
  expect(last.token).toBe(1_000);
  let denial: unknown;
  expect(await b.space.tryAcquire("n", { mode, refused: (facts) => (denial = facts) })).toBeNull();
  expect(denial).toMatchObject({ reason: "limit", position: null });
  const first = track(b.space.acquire("n", { mode, wait: "1m" }));
  await world.clock.settle();
  expect(b.told("waiting")).toMatchObject([{ denial: { reason: "limit", position: 0 } }]);
  const second = track(c.space.acquire("n", { mode, wait: "1m" }));
  await world.clock.settle();
  await last.release();
  await world.clock.advance(200);
  expect(first.value().token).toBe(1_001);
  expect(second.state()).toBe("waiting"); // Granted in that order.
  await first.value().release();
  await world.clock.advance(200);
  expect(second.value().token).toBe(1_002);
  expect((await world.record("n"))?.grants).toHaveLength(1_000);
});
