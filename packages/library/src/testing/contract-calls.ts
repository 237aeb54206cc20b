/* oxlint-disable no-await-in-loop -- a case does one thing after the other */
import assert from "node:assert/strict";

import type { RecordKey } from "../core/key.ts";
import { SpaceClosedError } from "../errors.ts";
import { assertRefused, engineTime, errorOf, get, increment, put } from "./contract-world.ts";
import type { CaseBody } from "./contract-world.ts";

const a: RecordKey = ["contract", "a"];
const b: RecordKey = ["contract", "b"];
const { signal: never } = new AbortController();

/** Largest limits that the suite tries to exceed. */
const keysTriedMax = 200_000;
const bytesTriedMax = 64 * 2 ** 20;

/** How calls begin and end: signals, deadlines, limits, load, closing. */
export const callCases: Readonly<Record<string, CaseBody>> = {
  "a signal that has fired rejects with its reason, and nothing is sent [L31 L33]": async (w) => {
    const reason = new Error("given up");
    const signal = AbortSignal.abort(reason);
    assert.equal(await errorOf(increment(w.first, a, { signal })), reason);
    assert.equal(await errorOf(w.first.scan(["contract"], { limit: 1 }, { signal })), reason);
    assert.equal(await get(w.second, a), undefined);
  },

  "a signal that fires on the way rejects with its reason and disturbs nobody": async (world) => {
    const { first, second } = world;
    const reason = new Error("given up");
    const calls = Array.from({ length: 30 }, () => {
      const controller = new AbortController();
      const call = increment(first, a, { signal: controller.signal });
      return { controller, call };
    });
    for (const { controller } of calls.slice(10, 20)) controller.abort(reason);
    const ends = await Promise.allSettled(calls.map(({ call }) => call));
    for (const [n, end] of ends.entries()) {
      if (end.status === "rejected") assert.equal(end.reason, reason);
      if (n < 10 || n >= 20) assert.equal(end.status, "fulfilled");
    }
    const given = ends.filter((end) => end.status === "fulfilled").length;
    const stored = Number(await get(second, a));
    assert.ok(stored >= given && stored <= 30, `${given} were answered, ${stored} are stored`);
  },

  "a signal that fires after the call has settled changes nothing [L32]": async ({ first }) => {
    const controller = new AbortController();
    assert.equal(await increment(first, a, { signal: controller.signal }), 1);
    controller.abort();
    assert.equal(await get(first, a), 1);
  },

  "a deadline that has passed rejects as unavailable, and nothing is sent": async (world) => {
    const deadlineMs = world.clock.monotonicMs() - 1;
    await assertRefused(increment(world.first, a, { deadlineMs }), true);
    await assertRefused(world.first.scan(["contract"], { limit: 1 }, { deadlineMs }), true);
    assert.equal(await get(world.second, a), undefined);
  },

  "a deadline in the future does no harm": async ({ first, clock }) => {
    assert.equal(await increment(first, a, { deadlineMs: clock.monotonicMs() + 60_000 }), 1);
    assert.equal(await increment(first, a, { deadlineMs: Infinity }), 2);
  },

  "more records than keysPerCommitMax are refused for that call alone": async ({ first }) => {
    const { keysPerCommitMax } = first.capabilities;
    if (keysPerCommitMax > keysTriedMax) return;
    const keys = Array.from({ length: keysPerCommitMax + 1 }, (_, n) => ["contract", `${n}`]);
    const tooMany = first.transact(keys, () => ({ writes: [], outcome: 0 }), {});
    const widening = first.transact(
      [a],
      (seen) => (seen.has(b) ? { writes: [], outcome: 0 } : { needs: [...keys, b] }),
      {},
    );
    const sum = increment(first, a);
    await assertRefused(tooMany, false);
    await assertRefused(widening, false);
    assert.equal(await sum, 1);
  },

  "a record above recordBytesMax is refused for that call alone": async ({ first, second }) => {
    const { recordBytesMax } = first.capabilities;
    if (recordBytesMax > bytesTriedMax) return;
    const tooLarge = put(first, a, "x".repeat(recordBytesMax));
    const sum = increment(first, b);
    await assertRefused(tooLarge, false);
    assert.equal(await sum, 1);
    assert.equal(await get(second, a), undefined);
    await put(first, a, "x".repeat(recordBytesMax - 2));
    assert.equal((await get(second, a)) === "x".repeat(recordBytesMax - 2), true);
  },

  "one decision may read and write 10,000 records": async ({ first, second }) => {
    const count = Math.min(10_000, first.capabilities.keysPerCommitMax);
    const keys = Array.from({ length: count }, (_, n): RecordKey => ["contract", `many-${n}`]);
    const writeAll = (value: number): Promise<number> =>
      first.transact(
        keys,
        (seen) => {
          const before = keys.filter((key) => seen.get(key) !== undefined).length;
          return { writes: keys.map((key) => ({ key, value })), outcome: before };
        },
        {},
      );
    assert.equal(await writeAll(1), 0);
    assert.equal(await get(second, keys[count - 1] as RecordKey), 1);
    assert.equal(await writeAll(2), count);
    await put(second, keys[0] as RecordKey, 7);
    assert.equal(await writeAll(3), count);
    assert.equal(await get(second, keys[0] as RecordKey), 3);
  },

  "hundreds of increments by two clients at once lose nothing": async ({ first, second }) => {
    const keys: RecordKey[] = [a, b, ["contract", "c"]];
    const each = 150;
    const calls = [first, second].flatMap((engine) =>
      keys.flatMap((key) => Array.from({ length: each }, () => increment(engine, key))),
    );
    const sums = await Promise.all(calls);
    for (const key of keys) assert.equal(await get(first, key), 2 * each);
    assert.equal(
      sums.reduce((so, sum) => so + sum, 0),
      (keys.length * 2 * each * (2 * each + 1)) / 2,
    );
  },

  "engine time never goes back and is the same for both within clockErrorMs": async (world) => {
    const { first, second } = world;
    const { clockErrorMs } = first.capabilities;
    let latest = 0;
    const own = [0, 0];
    for (let n = 0; n < 60; n += 1) {
      const place = n % 2;
      const now = await engineTime(place === 0 ? first : second);
      assert.ok(Number.isSafeInteger(now), `engine time is ${now}`);
      assert.ok(now >= (own[place] as number), "engine time went back for one client");
      assert.ok(now >= latest - clockErrorMs, `engine times differ by ${latest - now} ms`);
      own[place] = now;
      latest = Math.max(latest, now);
    }
  },

  "engine time passes as time passes": async ({ first, second, clock }) => {
    const before = await engineTime(first);
    const startMs = clock.monotonicMs();
    await put(first, a, 1);
    for (let n = 0; n < 20; n += 1) await get(second, a);
    const passedMs = clock.monotonicMs() - startMs;
    const after = await engineTime(second);
    const { clockErrorMs } = first.capabilities;
    const most = clock.monotonicMs() - startMs + 2 + clockErrorMs;
    assert.ok(after - before >= Math.floor(passedMs) - 1 - clockErrorMs);
    assert.ok(after - before <= most + 50, `${after - before} ms in ${most} ms`);
  },

  "close settles what is under way, and what it acknowledged is stored": async (world) => {
    const { first, second } = world;
    const calls = Array.from({ length: 20 }, () => increment(first, a));
    const closing = first.close();
    const sums = await Promise.all(calls);
    await closing;
    assert.equal(sums.length, 20);
    assert.equal(await get(second, a), 20);
  },

  "close is idempotent, later calls are refused, other clients go on": async (world) => {
    const { first, second } = world;
    await increment(first, a);
    await Promise.all([first.close(), first.close()]);
    await first.close();
    assert.ok((await errorOf(increment(first, a))) instanceof SpaceClosedError);
    const scan = first.scan(["contract"], { limit: 1 }, {});
    assert.ok((await errorOf(scan)) instanceof SpaceClosedError);
    assert.throws(() => first.watch(["contract"], { signal: never }), SpaceClosedError);
    assert.equal(await increment(second, a), 2);
  },
};
