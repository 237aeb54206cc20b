import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { RecordKey } from "../../src/core/key.ts";
import type { Engine } from "../../src/engine/contract.ts";
import { Connection } from "../../src/engines/sqlite/connection.ts";
import { openSqlite } from "../../src/engines/sqlite/index.ts";
import type { SqliteOptions } from "../../src/engines/sqlite/index.ts";
import { engineTime, get, increment, put } from "../../src/testing/contract-world.ts";
import { systemClock } from "../../src/time/system-clock.ts";
import { createSystemEntropy } from "../../src/time/system-entropy.ts";
import { scratchFolder } from "./scratch-folder.ts";

const key: RecordKey = ["test", "x"];

let folder: ReturnType<typeof scratchFolder>;
let path: string;
let engines: Engine[];

beforeEach(() => {
  folder = scratchFolder();
  path = join(folder.path, "store.db");
  engines = [];
});

afterEach(async () => {
  for (const engine of engines) await engine.close();
  folder.remove();
});

async function open(options: SqliteOptions = {}, at = path): Promise<Engine> {
  const engine = await openSqlite(at, options);
  engines.push(engine);
  return engine;
}

function raw(): DatabaseSync {
  return new DatabaseSync(path);
}

function stampedNow(connection: Connection): number {
  const now = connection.now();
  connection.statements.beginImmediate.run();
  connection.stamp(now);
  connection.statements.commit.run();
  connection.close();
  return now;
}

const bells = (): string => `${path}-bells`;

async function nextHint(engine: Engine, prefix: RecordKey): Promise<RecordKey | undefined> {
  const stop = AbortSignal.timeout(5000);
  const iterator = engine.watch(prefix, { signal: stop })[Symbol.asyncIterator]();
  const { value } = await iterator.next();
  return value?.key;
}

describe.each(["worker", "caller"] as const)("a file that goes away, thread %s", (thread) => {
  test("deleted: the call stores nothing, the next one finds a new store [LS178]", async () => {
    const engine = await open({ thread });
    await put(engine, key, "held");
    for (const ending of ["", "-wal", "-shm"]) rmSync(path + ending, { force: true });
    await expect(put(engine, key, "renewed")).rejects.toMatchObject({
      code: "ENGINE_UNAVAILABLE",
      outcome: "none",
      isTransient: true,
    });
    expect(await get(engine, key)).toBeUndefined();
    expect(await increment(engine, key)).toBe(1);
    const other = await open({ thread });
    expect(await get(other, key)).toBe(1);
  });

  test("replaced: a checked read does not answer from the lost file", async () => {
    const replacement = await open({ thread }, join(folder.path, "other.db"));
    await put(replacement, key, "other");
    await replacement.close();
    const engine = await open({ thread });
    await put(engine, key, "mine");
    for (const ending of ["-wal", "-shm"]) rmSync(path + ending, { force: true });
    renameSync(join(folder.path, "other.db"), path);
    await expect(get(engine, key)).rejects.toMatchObject({ outcome: "none", isTransient: true });
    expect(await get(engine, key)).toBe("other");
  });
});

test("what was decided before the store was opened anew is decided again in its time", async () => {
  const hourMs = 3_600_000;
  const other = await openSqlite(join(folder.path, "other.db"));
  await other.close();
  const database = new DatabaseSync(join(folder.path, "other.db"));
  database.exec(`UPDATE leasehold_meta SET value = value + ${hourMs} WHERE name = 'origin'`);
  database.close();
  const engine = await open();
  const before = await engineTime(engine);
  for (const ending of ["-wal", "-shm"]) rmSync(path + ending, { force: true });
  renameSync(join(folder.path, "other.db"), path);
  await expect(engineTime(engine)).rejects.toMatchObject({ outcome: "none" });
  expect(await engineTime(engine)).toBeGreaterThanOrEqual(before + hourMs);
});

describe("what cannot be opened", () => {
  test("an empty path and special names are refused as arguments", async () => {
    for (const bad of ["", ":memory:", "file:x.db", "a\0b"]) {
      await expect(openSqlite(bad)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });

  test("a folder, and a file in a missing folder, are named in the error", async () => {
    await expect(openSqlite(folder.path)).rejects.toThrow(`${folder.path} is a folder`);
    const deep = join(folder.path, "no", "such", "store.db");
    await expect(openSqlite(deep)).rejects.toThrow(/such does not exist/);
    await open({ createFolder: true }, deep);
    expect(existsSync(deep)).toBe(true);
  });

  test("a file that is no database, or of another format, is refused for good", async () => {
    writeFileSync(path, "x".repeat(5000));
    const refused = { outcome: "none", isTransient: false };
    await expect(openSqlite(path)).rejects.toMatchObject(refused);
    rmSync(path);
    const engine = await openSqlite(path);
    await engine.close();
    const database = raw();
    database.exec("UPDATE leasehold_meta SET value = 2 WHERE name = 'format'");
    database.close();
    await expect(openSqlite(path)).rejects.toMatchObject(refused);
    await expect(openSqlite(path)).rejects.toThrow(/format 2/);
  });
});

test("a store that others keep busy is given up at the deadline, with nothing stored", async () => {
  for (const thread of ["worker", "caller"] as const) {
    const engine = await open({ thread });
    await put(engine, key, 1);
    const database = raw();
    database.exec("BEGIN IMMEDIATE");
    const deadlineMs = systemClock.monotonicMs() + 300;
    await expect(increment(engine, key, { deadlineMs })).rejects.toMatchObject({
      outcome: "none",
      isTransient: true,
    });
    const waiting = increment(engine, key);
    setTimeout(() => database.exec("ROLLBACK"), 50);
    expect(await waiting).toBe(2);
    database.close();
  }
});

test("revisions never repeat, over deletion, re-creation and reopening [L128]", async () => {
  const seen = new Set<number>();
  for (let opening = 0; opening < 3; opening += 1) {
    const engine = await openSqlite(path);
    for (let n = 0; n < 5; n += 1) {
      await put(engine, key, "same");
      const database = raw();
      const row = database.prepare("SELECT revision FROM leasehold_record").get();
      seen.add((row as { revision: number }).revision);
      database.close();
      await put(engine, key, null);
    }
    await engine.close();
  }
  expect(seen.size).toBe(15);
});

test("text that others stored and that is no JSON reaches the decision as a string", async () => {
  const engine = await open();
  const database = raw();
  database.exec("INSERT INTO leasehold_record VALUES ('test/x', 7, '{broken')");
  database.close();
  expect(await get(engine, key)).toBe("{broken");
  const page = await engine.scan(["test"], { limit: 1 }, {});
  expect(page.records).toEqual([{ key, value: "{broken" }]);
});

describe("engine time", () => {
  interface World {
    wallMs: number;
    monotonicMs: number;
    bootId: string | undefined;
  }

  function connect(world: World): Connection {
    const time = {
      bootId: world.bootId,
      wallMs: () => world.wallMs,
      monotonicMs: () => world.monotonicMs,
    };
    return new Connection(path, time, createSystemEntropy());
  }

  test("setting the calendar between two openings of one boot moves nothing [L53]", () => {
    const world: World = { wallMs: 1_000_000, monotonicMs: 500, bootId: "one" };
    const first = stampedNow(connect(world));
    world.wallMs += 86_400_000;
    world.monotonicMs += 10;
    expect(stampedNow(connect(world))).toBe(first + 10);
  });

  test("another boot with a calendar that stands behind never takes it back", () => {
    const world: World = { wallMs: 1_000_000, monotonicMs: 900_000, bootId: "one" };
    const before = stampedNow(connect(world));
    world.bootId = "two";
    world.wallMs = 5000;
    world.monotonicMs = 3;
    expect(stampedNow(connect(world))).toBeGreaterThanOrEqual(before);
  });

  test("another boot with a calendar that has gone on follows the calendar", () => {
    const world: World = { wallMs: 1_000_000, monotonicMs: 900_000, bootId: "one" };
    stampedNow(connect(world));
    Object.assign(world, { bootId: "two", wallMs: 9_000_000, monotonicMs: 3 });
    expect(stampedNow(connect(world))).toBe(9_000_000);
  });

  test("where boots have no name, a clock that stands behind tells of another boot", () => {
    const world: World = { wallMs: 1_000_000, monotonicMs: 900_000, bootId: undefined };
    const before = stampedNow(connect(world));
    world.monotonicMs = 5;
    world.wallMs += 60_000;
    expect(stampedNow(connect(world))).toBeGreaterThanOrEqual(before + 60_000);
  });
});

describe("hints from another client", () => {
  const presence: RecordKey = ["presence", "ns", "watcher-1"];
  test("one commit that hints a presence rings its bell, and only once is enough", async () => {
    const [watcher, writer] = [await open(), await open()];
    const told = nextHint(watcher, presence);
    const decided = { writes: [{ key, value: 1 }], outcome: 0, hints: [presence] };
    await writer.transact([key], () => decided, {});
    expect(await told).toEqual(presence);
    expect(readdirSync(bells())).toEqual(["watcher-1"]);
    await watcher.close();
    expect(readdirSync(bells())).toEqual([]);
  });

  test("a bell that cannot be removed disturbs no commit", async () => {
    const [sweeper, other] = [await open(), await open()];
    await put(sweeper, ["presence", "ns", "dead"], 1);
    mkdirSync(join(bells(), "dead"), { recursive: true });
    await put(sweeper, ["presence", "ns", "dead"], null);
    expect(await get(other, ["presence", "ns", "dead"])).toBeUndefined();
  });

  test("bells that cannot be hung are replaced by looking now and then", async () => {
    writeFileSync(bells(), "in the way");
    const [watcher, writer] = [await open(), await open()];
    const stop = AbortSignal.timeout(5000);
    const iterator = watcher.watch(presence, { signal: stop })[Symbol.asyncIterator]();
    // The first hint stands for what came before the watch; the second is the commit's.
    await iterator.next();
    const told = iterator.next();
    await put(writer, presence, 1);
    expect((await told).value?.key).toEqual(presence);
  });

  test("a presence that is deleted takes its bell along; those of the living stay", async () => {
    mkdirSync(bells());
    for (const name of ["dead", "live"]) writeFileSync(join(bells(), name), "");
    const sweeper = await open();
    await put(sweeper, ["presence", "ns", "dead"], 1);
    await put(sweeper, ["presence", "ns", "dead"], null);
    expect(readdirSync(bells())).toEqual(["live"]);
  });
});

test("the log of the store stays bounded under a stream of commits", async () => {
  const engine = await open({ thread: "caller" });
  const text = "x".repeat(400);
  for (let round = 0; round < 240; round += 1) {
    await Promise.all(
      Array.from({ length: 500 }, (_, n) => put(engine, ["test", `k${n}`], `${round}${text}`)),
    );
  }
  expect(statSync(`${path}-wal`).size).toBeLessThan(24 * 2 ** 20);
});

test.each(["worker", "caller"] as const)(
  "timers of the caller are served while 100,000 calls are pushed through, thread %s",
  async (thread) => {
    const engine = await open({ thread });
    const calls = Array.from({ length: 100_000 }, (_, n) =>
      put(engine, ["test", `k${n % 500}`], n),
    );
    // Time on the processor, because other processes' load says nothing about this one.
    const busyMs: number[] = [];
    let before = process.threadCpuUsage();
    const timer = setInterval(() => {
      const { user, system } = process.threadCpuUsage(before);
      busyMs.push((user + system) / 1000);
      before = process.threadCpuUsage();
    }, 10);
    await Promise.all(calls);
    clearInterval(timer);
    expect(busyMs.length).toBeGreaterThan(10);
    expect(Math.max(...busyMs)).toBeLessThan(250);
    expect(busyMs.toSorted((x, y) => x - y)[busyMs.length >> 1]).toBeLessThan(40);
  },
  60_000,
);
