import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { test } from "vitest";

import { decideStatus } from "../../src/core/lock/status.ts";
import { lockKey } from "../../src/core/lock/keys.ts";
import type { LockRecord } from "../../src/core/lock/record.ts";
import type { RecordKey } from "../../src/core/key.ts";
import type { Json } from "../../src/core/scalars.ts";
import type { Capabilities, Engine } from "../../src/engine/contract.ts";
import { createMemoryStore, openMemory } from "../../src/engines/memory/index.ts";
import { openSqlite } from "../../src/engines/sqlite/index.ts";
import { openSpace } from "../../src/lock/open-space.ts";
import type { Space, SpaceOptions } from "../../src/lock/space-api.ts";
import type { SpaceEventName } from "../../src/lock/events-api.ts";
import type { LockStatus } from "../../src/core/lock/views.ts";
import type { Clock } from "../../src/time/clock.ts";
import { FakeClock } from "../../src/time/fake-clock.ts";
import { createSystemEntropy } from "../../src/time/system-entropy.ts";
import { FaultyEngine, type SharedStore } from "./faulty-engine.ts";

/**
 * A store of one engine on a clock that the test moves, and any number of clients of it.
 *
 * Each client is what a process would be: a space of its own on an engine of its own. Dropping a
 * client without closing it is its death; freezing it is SIGSTOP.
 */
export interface World {
  readonly engine: "memory" | "sqlite";
  readonly clock: FakeClock;
  /** Engine time now. */
  now(): Promise<number>;
  client(options?: SpaceOptions, more?: ClientOptions): Promise<Client>;
  /** The record of a lock as stored; undefined when there is none. */
  record(name: string): Promise<LockRecord | undefined>;
  stored(key: RecordKey): Promise<Json | undefined>;
  put(key: RecordKey, value: Json | null): Promise<void>;
  /** All stored keys that begin with a part. */
  keys(part: string): Promise<readonly RecordKey[]>;
  status(name: string): Promise<LockStatus>;
  /** Sets the store's own clock forward, or back; monotonic time does not notice. */
  stepEngine(ms: number): void;
}

interface ClientOptions {
  readonly capabilities?: Partial<Capabilities>;
  /** The client's own clock; default the world's. */
  readonly clock?: Clock;
}

export interface Client {
  readonly space: Space;
  readonly engine: FaultyEngine;
  /** Every event of the space, in order. */
  readonly events: readonly { readonly event: SpaceEventName; readonly facts: unknown }[];
  /** The facts of one kind of event. */
  readonly told: (event: SpaceEventName) => readonly unknown[];
  /** Ends the client without a word: nothing it would still send reaches the store. */
  kill(): void;
}

const eventNames: readonly SpaceEventName[] = [
  "acquired",
  "waiting",
  "refused",
  "renewed",
  "lost",
  "released",
  "reclaimed",
  "withdrawn",
  "ticketLost",
  "stall",
  "unverified",
  "clockStep",
  "rewind",
  "error",
];

/** Registers one scenario as a test on every engine; its title begins with the scenario's id. */
export function scenario(title: string, body: (world: World) => Promise<void>): void {
  for (const engine of ["memory", "sqlite"] as const) {
    test(`${title} (${engine})`, async () => {
      const setup = engine === "memory" ? memoryWorld() : sqliteWorld();
      try {
        await body(setup.world);
      } finally {
        await setup.end();
      }
    });
  }
}

interface Setup {
  readonly world: World;
  end(): Promise<void>;
}

function memoryWorld(): Setup {
  const clock = new FakeClock();
  const store = createMemoryStore({ clock });
  return worldOn("memory", clock, async () => openMemory(store));
}

function sqliteWorld(): Setup {
  const clock = new FakeClock();
  const folder = mkdtempSync(join(tmpdir(), "leasehold-scenario-"));
  const path = join(folder, "store.db");
  const time = {
    bootId: "one",
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
  };
  const setup = worldOn("sqlite", clock, () => openSqlite(path, { thread: "caller", clock, time }));
  return {
    world: setup.world,
    end: async () => {
      await setup.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function worldOn(name: World["engine"], clock: FakeClock, open: () => Promise<Engine>): Setup {
  const clients: Engine[] = [];
  const entropy = createSystemEntropy();
  const store: SharedStore = { clock, stepMs: 0, revisions: new Map() };
  let observer: Engine | undefined;
  let serial = 0;
  const observe = async (): Promise<Engine> =>
    (observer ??= new FaultyEngine(await open(), clock, {}, store));
  const read = async (key: RecordKey): Promise<Json | undefined> =>
    (await observe()).transact(
      [key],
      (snapshot) => ({ writes: [], outcome: snapshot.get(key) }),
      {},
    );
  const world: World = {
    engine: name,
    clock,
    now: async () =>
      (await observe()).transact([], (snapshot) => ({ writes: [], outcome: snapshot.now }), {}),
    client: async (options = {}, more = {}) => {
      const inner = await open();
      clients.push(inner);
      const ownClock = more.clock ?? clock;
      const engine = new FaultyEngine(inner, ownClock, more.capabilities, store);
      serial += 1;
      const host = { name: `host-${serial}`, pid: serial };
      const parts = { engine, clock: ownClock, entropy, host };
      return clientOf(await openSpace(parts, { sweep: false, ...options }), engine);
    },
    record: async (lock) => (await read(lockKey("default", lock))) as LockRecord | undefined,
    stored: read,
    put: async (key, value) =>
      (await observe()).transact(
        [key],
        () => ({ writes: [{ key, value }], outcome: undefined }),
        {},
      ),
    keys: async (part) => {
      const page = await (await observe()).scan([part, "default"], { limit: 1_000 }, {});
      return page.records.map(({ key }) => key);
    },
    status: async (lock) =>
      (await observe()).transact(
        [lockKey("default", lock)],
        (snapshot) => decideStatus(snapshot, { namespace: "default", name: lock, clockErrorMs: 0 }),
        {},
      ),
    stepEngine: (ms) => {
      store.stepMs += ms;
    },
  };
  const end = async (): Promise<void> => {
    for (const engine of clients) await engine.close();
    await observer?.close();
  };
  return { world, end };
}

function clientOf(space: Space, engine: FaultyEngine): Client {
  const events: { event: SpaceEventName; facts: unknown }[] = [];
  for (const event of eventNames) space.on(event, (facts) => events.push({ event, facts }));
  return {
    space,
    engine,
    events,
    told: (event) => events.filter((each) => each.event === event).map(({ facts }) => facts),
    kill: () => {
      engine.fault = () => ({ kind: "drop" });
      engine.dropsHints = true;
    },
  };
}

/** Whether a promise has settled, and how; for calls that are expected to wait on. */
export function track<Value>(promise: Promise<Value>): {
  readonly state: () => "waiting" | "resolved" | "rejected";
  readonly value: () => Value;
  readonly error: () => unknown;
} {
  let state: "waiting" | "resolved" | "rejected" = "waiting";
  let value: Value | undefined;
  let error: unknown;
  promise.then(
    (got) => {
      state = "resolved";
      value = got;
    },
    (reason: unknown) => {
      state = "rejected";
      error = reason;
    },
  );
  return { state: () => state, value: () => value as Value, error: () => error };
}

/** Runs a call to its end while time passes, at most `msMax`. */
export async function within<Value>(
  clock: FakeClock,
  msMax: number,
  promise: Promise<Value>,
): Promise<Value> {
  const tracked = track(promise);
  for (let passed = 0; passed <= msMax && tracked.state() === "waiting"; passed += 10) {
    await clock.advance(passed === 0 ? 0 : 10);
  }
  if (tracked.state() === "waiting") throw new Error(`not settled within ${msMax} ms`);
  return promise;
}
