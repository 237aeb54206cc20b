/* oxlint-disable no-await-in-loop -- a case does one thing after the other */
import assert from "node:assert/strict";

import type { RecordKey } from "../core/key.ts";
import type { Json } from "../core/scalars.ts";
import { InvalidArgumentError } from "../errors.ts";
import { assertRefused, errorOf, get, increment, put } from "./contract-world.ts";
import type { CaseBody } from "./contract-world.ts";

const a: RecordKey = ["contract", "a"];
const b: RecordKey = ["contract", "b"];
const c: RecordKey = ["contract", "c"];

/** How decisions are run, compared and committed. */
export const decisionCases: Readonly<Record<string, CaseBody>> = {
  "a record that was never written is absent": async ({ first }) => {
    const seen = await first.transact(
      [a],
      (snapshot) => ({
        writes: [],
        outcome: [snapshot.has(a), snapshot.get(a), snapshot.has(b)],
      }),
      {},
    );
    assert.deepEqual(seen, [true, undefined, false]);
  },

  "a committed record is seen by both clients as it was written": async ({ first, second }) => {
    const value = { n: 1.5, text: 'ö "quoted" \\ 😀 \n', list: [null, true, { deep: [] }], z: -7 };
    await put(first, a, value);
    assert.deepEqual(await get(first, a), value);
    assert.deepEqual(await get(second, a), value);
  },

  "members named like parts of the language survive": async ({ first, second }) => {
    const value = JSON.parse('{"__proto__":{"x":1},"constructor":"c","toString":null}') as Json;
    await put(first, a, value);
    assert.equal(JSON.stringify(await get(second, a)), JSON.stringify(value));
  },

  "false, zero and the empty string are records, not absence": async ({ first, second }) => {
    for (const value of [false, 0, "", [], {}]) {
      await put(first, a, value);
      assert.deepEqual(await get(second, a), value);
    }
  },

  "a decision on what another client has changed is run again": async ({ first, second }) => {
    await put(first, a, 1);
    await put(second, a, 2);
    const seen: unknown[] = [];
    const outcome = await first.transact(
      [a],
      (snapshot) => {
        seen.push(snapshot.get(a));
        return { writes: [{ key: a, value: 3 }], outcome: snapshot.get(a) };
      },
      {},
    );
    assert.equal(outcome, 2);
    assert.equal(seen.at(-1), 2);
    assert.equal(await get(second, a), 3);
  },

  "a decision over several records is void when one of them has changed": async (world) => {
    const { first, second } = world;
    await put(first, a, 1);
    await put(first, b, 1);
    await put(second, b, 2);
    const sum = await first.transact(
      [a, b],
      (seen) => {
        const total = Number(seen.get(a)) + Number(seen.get(b));
        return { writes: [{ key: a, value: total }], outcome: total };
      },
      {},
    );
    assert.equal(sum, 3);
    assert.equal(await get(second, a), 3);
  },

  "an outcome without writes is given only when its reads are true": async ({ first, second }) => {
    await put(first, a, "old");
    await put(second, a, "new");
    assert.equal(await get(first, a), "new");
    await put(second, a, null);
    assert.equal(await get(first, a), undefined);
  },

  "a throw on records that have changed is not told": async ({ first, second }) => {
    await put(first, a, "broken");
    await put(second, a, "whole");
    const outcome = await first.transact(
      [a],
      (seen) => {
        if (seen.get(a) === "broken") throw new Error("cannot read it");
        return { writes: [], outcome: seen.get(a) };
      },
      {},
    );
    assert.equal(outcome, "whole");
  },

  "a throw on what is stored rejects the call and stores nothing": async ({ first, second }) => {
    await put(first, a, 1);
    const thrown = new Error("not today");
    const call = first.transact(
      [a],
      () => {
        throw thrown;
      },
      {},
    );
    assert.equal(await errorOf(call), thrown);
    assert.equal(await get(second, a), 1);
  },

  "the writes of a decision are seen together or not at all": async ({ first, second }) => {
    const writer = async (): Promise<void> => {
      for (let n = 1; n <= 40; n += 1) {
        const writes = [a, b, c].map((key) => ({ key, value: n }));
        await first.transact([a, b, c], () => ({ writes, outcome: n }), {});
      }
    };
    const state = { isWriting: true };
    const writing = writer().finally(() => (state.isWriting = false));
    while (state.isWriting) {
      const [x, y, z] = await second.transact(
        [a, b, c],
        (seen) => ({ writes: [], outcome: [seen.get(a), seen.get(b), seen.get(c)] }),
        {},
      );
      assert.deepEqual([x, y], [y, z]);
    }
    await writing;
  },

  "calls made in one turn on one record are decided in their order": async ({ first, second }) => {
    const append = (n: number): Promise<void> =>
      first.transact(
        [a],
        (seen) => {
          const list = (seen.get(a) ?? []) as readonly number[];
          return { writes: [{ key: a, value: [...list, n] }], outcome: undefined };
        },
        {},
      );
    const numbers = Array.from({ length: 50 }, (_, n) => n);
    await Promise.all(numbers.map(append));
    assert.deepEqual(await get(second, a), numbers);
  },

  "one call that throws does not disturb others of the same turn": async ({ first }) => {
    const failing = first.transact(
      [a],
      () => {
        throw new Error("mine alone");
      },
      {},
    );
    const [failed, sum, other] = await Promise.allSettled([
      failing,
      increment(first, a),
      increment(first, b),
    ]);
    assert.equal(failed.status, "rejected");
    assert.deepEqual([sum.status, other.status], ["fulfilled", "fulfilled"]);
    assert.equal(await get(first, a), 1);
  },

  "needs widens the decision until it has all it wants": async ({ first, second }) => {
    const chain = Array.from({ length: 6 }, (_, n): RecordKey => ["contract", `link-${n}`]);
    for (const [n, key] of chain.entries()) await put(second, key, n);
    const sum = await first.transact(
      [chain[0] as RecordKey],
      (seen) => {
        const missing = chain.find((key) => !seen.has(key));
        if (missing !== undefined) return { needs: [missing] };
        const total = chain.reduce((so, key) => so + Number(seen.get(key)), 0);
        return { writes: [{ key: chain[5] as RecordKey, value: total }], outcome: total };
      },
      {},
    );
    assert.equal(sum, 15);
    assert.equal(await get(second, chain[5] as RecordKey), 15);
  },

  "needs that bring nothing new, or never end, are refused": async ({ first }) => {
    const stuck = first.transact([a], () => ({ needs: [a] }), {});
    assert.ok((await errorOf(stuck)) instanceof InvalidArgumentError);
    let n = 0;
    const endless = first.transact([a], () => ({ needs: [["contract", `x-${n++}`]] }), {});
    assert.ok((await errorOf(endless)) instanceof InvalidArgumentError);
  },

  "a write to a record that was not read is refused": async ({ first, second }) => {
    const write = { key: b, value: 1 };
    const call = first.transact([a], () => ({ writes: [write], outcome: 0 }), {});
    assert.ok((await errorOf(call)) instanceof InvalidArgumentError);
    assert.equal(await get(second, b), undefined);
  },

  "two writes to one record in one decision are refused": async ({ first, second }) => {
    const writes = [1, 2].map((value) => ({ key: a, value }));
    const call = first.transact([a], () => ({ writes, outcome: 0 }), {});
    assert.ok((await errorOf(call)) instanceof InvalidArgumentError);
    assert.equal(await get(second, a), undefined);
  },

  "a deleted record is absent and can be made anew": async ({ first, second }) => {
    await put(first, a, { life: 1 });
    await get(second, a);
    await put(first, a, null);
    assert.equal(await get(second, a), undefined);
    await put(first, a, null);
    await put(second, a, { life: 2 });
    assert.deepEqual(await get(first, a), { life: 2 });
  },

  "deletion and re-creation behind a client's back are noticed": async ({ first, second }) => {
    await put(first, a, { life: 1 });
    await put(second, a, null);
    await put(second, a, { life: 2 });
    const seen = await first.transact(
      [a],
      (snapshot) => ({ writes: [{ key: a, value: { life: 3 } }], outcome: snapshot.get(a) }),
      {},
    );
    assert.deepEqual(seen, { life: 2 });
  },

  "a decision is refused once engine time has reached its validUntil": async (world) => {
    const { first, second } = world;
    const runs: number[] = [];
    const outcome = await first.transact(
      [a],
      (seen) => {
        runs.push(seen.now);
        const value = runs.length;
        const decided = { writes: [{ key: a, value }], outcome: value };
        return value < 3 ? { ...decided, validUntil: seen.now } : decided;
      },
      {},
    );
    assert.equal(outcome, 3);
    assert.equal(await get(second, a), 3);
    assert.ok((runs[2] as number) >= (runs[0] as number));
  },

  "a decision that is void whenever it is made ends as unavailable": async ({ first, second }) => {
    const call = first.transact(
      [a],
      (seen) => ({ writes: [{ key: a, value: 1 }], outcome: 0, validUntil: seen.now - 1 }),
      {},
    );
    await assertRefused(call, true);
    assert.equal(await get(second, a), undefined);
  },

  "a validUntil in the future does no harm": async ({ first, second }) => {
    await first.transact(
      [a],
      (seen) => ({ writes: [{ key: a, value: 1 }], outcome: 0, validUntil: seen.now + 60_000 }),
      {},
    );
    assert.equal(await get(second, a), 1);
  },
};
