import { getEventListeners } from "node:events";

import { expect, test } from "vitest";

import type { RecordKey } from "../../src/core/key.ts";
import type { CommitDriver, CommitUnit, UnitResult } from "../../src/engine/commit-driver.ts";
import type { CallOptions, Capabilities } from "../../src/engine/contract.ts";
import { GroupCommit } from "../../src/engine/group-commit.ts";
import type { GroupCommitOptions } from "../../src/engine/group-commit.ts";
import { EngineUnavailableError } from "../../src/errors.ts";
import { FakeClock } from "../../src/time/fake-clock.ts";

const capabilities: Capabilities = {
  engine: "scripted",
  spansHosts: false,
  spansProcesses: false,
  durable: false,
  mayLoseAcknowledged: false,
  clockErrorMs: 0,
  clockMaySteps: false,
  keysPerCommitMax: 100,
  recordBytesMax: 1000,
  hints: false,
};

type Script = (
  units: readonly CommitUnit[],
) => readonly UnitResult[] | Promise<readonly UnitResult[]>;

/** A driver whose answers the test gives, one batch after the other. */
class ScriptedDriver implements CommitDriver {
  readonly capabilities: Capabilities = capabilities;
  readonly batches: CommitUnit[][] = [];
  readonly scripts: Script[] = [];
  readonly #clock: FakeClock;
  revision = 0;
  isClosed = false;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  now(): number {
    return Math.floor(this.#clock.monotonicMs());
  }

  commit(units: readonly CommitUnit[]): readonly UnitResult[] | Promise<readonly UnitResult[]> {
    this.batches.push(units.map((unit) => structuredClone(plain(unit))));
    return (this.scripts.shift() ?? this.accept)(units);
  }

  readonly accept: Script = (units) => units.map(() => (this.revision += 1));

  async scan(): Promise<readonly []> {
    return [];
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

function plain(unit: CommitUnit): CommitUnit {
  const { readKeys, readRevisions, writeKeys, writeTexts, hintKeys, decidedAt, validUntil } = unit;
  return { readKeys, readRevisions, writeKeys, writeTexts, hintKeys, decidedAt, validUntil };
}

function setup(options: GroupCommitOptions = {}): {
  clock: FakeClock;
  driver: ScriptedDriver;
  engine: GroupCommit;
} {
  const clock = new FakeClock();
  const driver = new ScriptedDriver(clock);
  return { clock, driver, engine: new GroupCommit(driver, clock, options) };
}

const a: RecordKey = ["a"];
const b: RecordKey = ["b"];

function add(engine: GroupCommit, key: RecordKey, options: CallOptions = {}): Promise<number> {
  return engine.transact(
    [key],
    (seen) => {
      const sum = Number(seen.get(key) ?? 0) + 1;
      return { writes: [{ key, value: sum }], outcome: sum };
    },
    options,
  );
}

/** A script that answers when the test says so. */
function held(): { script: Script; answer: (results: readonly UnitResult[] | Error) => void } {
  let settle: ((results: readonly UnitResult[] | Error) => void) | undefined;
  const script: Script = () =>
    new Promise((resolve, reject) => {
      settle = (results) => (results instanceof Error ? reject(results) : resolve(results));
    });
  return { script, answer: (results) => settle?.(results) };
}

test("calls of one turn travel in one batch, chained on the same key", async () => {
  const { engine, driver } = setup();
  expect(await Promise.all([add(engine, a), add(engine, a), add(engine, b)])).toEqual([1, 2, 1]);
  expect(driver.batches).toHaveLength(1);
  expect(driver.batches[0]?.map((unit) => unit.readRevisions)).toEqual([[0], [-1], [0]]);
  expect(driver.batches[0]?.map((unit) => unit.writeTexts)).toEqual([["1"], ["2"], ["1"]]);
});

test("a record last seen is decided on without asking again", async () => {
  const { engine, driver } = setup();
  await add(engine, a);
  await add(engine, a);
  expect(driver.batches.map(([unit]) => unit?.readRevisions)).toEqual([[0], [1]]);
});

test("while a batch is under way calls pile up for the next one", async () => {
  const { clock, engine, driver } = setup();
  const { script, answer } = held();
  driver.scripts.push(script);
  const first = add(engine, a);
  await clock.settle();
  const rest = [add(engine, a), add(engine, b), add(engine, a)];
  await clock.settle();
  expect(driver.batches).toHaveLength(1);
  answer([7]);
  expect(await first).toBe(1);
  expect(await Promise.all(rest)).toEqual([2, 1, 3]);
  expect(driver.batches[1]?.map((unit) => unit.readRevisions)).toEqual([[7], [0], [-1]]);
});

test("no outcome is given before the commit is known [L9]", async () => {
  const { clock, engine, driver } = setup();
  const { script, answer } = held();
  driver.scripts.push(script);
  let isSettled = false;
  const call = add(engine, a).then(() => (isSettled = true));
  await clock.settle();
  expect(isSettled).toBe(false);
  answer([1]);
  await call;
  expect(isSettled).toBe(true);
});

test("a conflict is decided again on what was found, before newer calls", async () => {
  const { clock, engine, driver } = setup();
  const { script, answer } = held();
  driver.scripts.push(script);
  const first = add(engine, a);
  const second = add(engine, a);
  await clock.settle();
  const newer = add(engine, a);
  answer([[{ text: "41", revision: 9 }], []]);
  expect(await Promise.all([first, second, newer])).toEqual([42, 43, 44]);
  expect(driver.batches[1]?.map((unit) => unit.readRevisions)).toEqual([[9], [-1], [-2]]);
});

test("a decision made again is compared on what it then reads alone", async () => {
  const { engine, driver } = setup();
  driver.scripts.push(() => [
    [
      { text: "1", revision: 4 },
      { text: null, revision: 0 },
    ],
  ]);
  const call = engine.transact(
    [a],
    (seen) => {
      if (seen.get(a) === undefined && !seen.has(b)) return { needs: [b] };
      return { writes: [], outcome: seen.has(b) };
    },
    {},
  );
  expect(await call).toBe(false);
  expect(driver.batches.map(([unit]) => unit?.readKeys)).toEqual([["a", "b"], ["a"]]);
});

test("a throw and an outcome without writes are checked before they are given", async () => {
  const { engine, driver } = setup();
  driver.scripts.push(() => [[{ text: "5", revision: 3 }], [{ text: "5", revision: 3 }]]);
  const seen: unknown[] = [];
  const throwing = engine.transact(
    [a],
    (snapshot) => {
      seen.push(snapshot.get(a));
      throw new Error(`threw on ${JSON.stringify(snapshot.get(a))}`);
    },
    {},
  );
  const reading = engine.transact(
    [a],
    (snapshot) => ({ writes: [], outcome: snapshot.get(a) }),
    {},
  );
  await expect(throwing).rejects.toThrow("threw on 5");
  expect(await reading).toBe(5);
  expect(seen).toEqual([undefined, 5]);
  expect(driver.batches[0]?.map((unit) => unit.writeKeys)).toEqual([[], []]);
});

test("a failed batch rejects its calls, and nothing of it is remembered [L116]", async () => {
  const { engine, driver } = setup();
  await add(engine, a);
  const lost = new EngineUnavailableError("scripted", "gone", {
    outcome: "unknown",
    isTransient: true,
  });
  driver.scripts.push(() => Promise.reject(lost));
  const failed = await Promise.allSettled([add(engine, a), add(engine, b)]);
  expect(failed.map((end) => (end as PromiseRejectedResult).reason)).toEqual([lost, lost]);
  await add(engine, a);
  expect(driver.batches.at(-1)?.[0]?.readRevisions).toEqual([0]);
});

test("a driver that throws at once is a failed batch, too, and the next one goes out", async () => {
  const { engine, driver } = setup();
  driver.scripts.push(() => {
    throw new Error("at once");
  });
  await expect(add(engine, a)).rejects.toThrow("at once");
  expect(await add(engine, a)).toBe(1);
});

test("one refused unit rejects its call alone", async () => {
  const { engine, driver } = setup();
  driver.scripts.push(() => [new Error("too odd"), 4]);
  const ends = await Promise.allSettled([add(engine, a), add(engine, b)]);
  expect(ends.map((end) => end.status)).toEqual(["rejected", "fulfilled"]);
});

test("a call cancelled before it was sent is never sent [L33]", async () => {
  const { engine, driver } = setup();
  const controller = new AbortController();
  const call = add(engine, a, { signal: controller.signal });
  const other = add(engine, b);
  controller.abort("changed my mind");
  await expect(call).rejects.toBe("changed my mind");
  await other;
  expect(driver.batches[0]?.map((unit) => unit.readKeys)).toEqual([["b"]]);
});

test("a call in flight whose signal fires rejects at once and is not decided again", async () => {
  const { clock, engine, driver } = setup();
  const { script, answer } = held();
  driver.scripts.push(script);
  const controller = new AbortController();
  const call = add(engine, a, { signal: controller.signal });
  await clock.settle();
  controller.abort("enough");
  await expect(call).rejects.toBe("enough");
  answer([[{ text: "9", revision: 9 }]]);
  await clock.settle();
  expect(driver.batches).toHaveLength(1);
});

test("a deadline is none before sending and unknown after, and frees its timer", async () => {
  const { clock, engine, driver } = setup();
  const { script, answer } = held();
  driver.scripts.push(script);
  const deadlineMs = clock.monotonicMs() + 100;
  const sent = add(engine, a, { deadlineMs });
  await clock.settle();
  const waiting = add(engine, b, { deadlineMs });
  const ends = Promise.allSettled([sent, waiting]);
  await clock.advance(100);
  const reasons = (await ends).map((end) => (end as PromiseRejectedResult).reason as unknown);
  expect(reasons).toMatchObject([{ outcome: "unknown" }, { outcome: "none" }]);
  expect(clock.timerCount).toBe(0);
  answer([1]);
  await clock.settle();
  expect(driver.batches).toHaveLength(1);
});

test("a settled call leaves no timer and no listener behind [L122]", async () => {
  const { clock, engine } = setup();
  const { signal } = new AbortController();
  const call = add(engine, a, { signal, deadlineMs: clock.monotonicMs() + 1000 });
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  await call;
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
  expect(clock.timerCount).toBe(0);
});

test("endless conflicts end as unavailable, transient, nothing stored", async () => {
  const { engine, driver } = setup();
  const found = [{ text: "1", revision: 1 }];
  for (let n = 0; n < 1000; n += 1) driver.scripts.push(() => [found]);
  await expect(add(engine, a)).rejects.toMatchObject({ outcome: "none", isTransient: true });
  expect(driver.batches).toHaveLength(1000);
});

test("a batch is bounded, and the order is kept over batches", async () => {
  const { engine, driver } = setup({ unitsPerBatchMax: 10 });
  const sums = await Promise.all(Array.from({ length: 35 }, () => add(engine, a)));
  expect(sums).toEqual(Array.from({ length: 35 }, (_, n) => n + 1));
  expect(driver.batches.map((batch) => batch.length)).toEqual([10, 10, 10, 5]);
});

test("batches that follow each other let the event loop in every few milliseconds", async () => {
  const { clock, engine, driver } = setup({ unitsPerBatchMax: 1 });
  const commitMs = 3;
  let withoutYield = 0;
  let most = 0;
  for (let n = 0; n < 50; n += 1) {
    driver.scripts.push((units) => {
      clock.stall(commitMs);
      withoutYield += 1;
      most = Math.max(most, withoutYield);
      return driver.accept(units);
    });
  }
  let isDone = false;
  const turn = (): void => {
    withoutYield = 0;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await Promise.all(Array.from({ length: 50 }, () => add(engine, a)));
  isDone = true;
  expect(most * commitMs).toBeLessThanOrEqual(15);
});

test("more calls than may wait are refused as unavailable", async () => {
  const { engine } = setup({ callsWaitingMax: 2 });
  const ends = await Promise.allSettled([add(engine, a), add(engine, a), add(engine, a)]);
  expect(ends.map((end) => end.status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
});

test("a conflict over more records than the cache holds still gets on", async () => {
  const { engine, driver } = setup({ cacheEntriesMax: 4 });
  const keys = Array.from({ length: 50 }, (_, n): RecordKey => [`k${n}`]);
  driver.scripts.push((units) => [
    (units[0] as CommitUnit).readKeys.map((_key, n) => ({ text: `${n}`, revision: n + 1 })),
  ]);
  const sum = await engine.transact(
    keys,
    (seen) => ({
      writes: [],
      outcome: keys.reduce((so, key) => so + Number(seen.get(key)), 0),
    }),
    {},
  );
  expect(sum).toBe(1225);
  expect(driver.batches[1]?.[0]?.readRevisions).toEqual(keys.map((_key, n) => n + 1));
});

test("stored text that is no JSON is handed over as a string", async () => {
  const { engine, driver } = setup();
  driver.scripts.push(() => [[{ text: "{oops", revision: 1 }]]);
  const call = engine.transact([a], (seen) => ({ writes: [], outcome: seen.get(a) }), {});
  expect(await call).toBe("{oops");
});

test("validUntil, now and hints travel with the unit", async () => {
  const { clock, engine, driver } = setup();
  await engine.transact(
    [a],
    (seen) => ({ writes: [], outcome: 0, validUntil: seen.now + 5, hints: [["x", "y/z"]] }),
    {},
  );
  const decidedAt = Math.floor(clock.monotonicMs());
  expect(driver.batches[0]?.[0]).toMatchObject({
    decidedAt,
    validUntil: decidedAt + 5,
    hintKeys: ["x/y~1z"],
  });
});

test("close waits for what is under way, then closes the driver once", async () => {
  const { clock, engine, driver } = setup();
  const { script, answer } = held();
  driver.scripts.push(script);
  const call = add(engine, a);
  await clock.settle();
  const closing = engine.close();
  await clock.settle();
  expect(driver.isClosed).toBe(false);
  answer([1]);
  expect(await call).toBe(1);
  await closing;
  expect(driver.isClosed).toBe(true);
});
