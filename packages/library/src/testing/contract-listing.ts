/* oxlint-disable no-await-in-loop -- a case does one thing after the other */
import assert from "node:assert/strict";

import { encodeKey } from "../core/key.ts";
import type { RecordKey } from "../core/key.ts";
import type { Engine, PageRequest } from "../engine/contract.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Clock } from "../time/clock.ts";
import { errorOf, get, put, within } from "./contract-world.ts";
import type { CaseBody } from "./contract-world.ts";

/** Names that break what joins, quotes, matches or sorts carelessly. */
const oddNames: readonly string[] = [
  "plain",
  "it's",
  'say "x"',
  "50%",
  "under_score",
  "a*b?[c]",
  "back\\slash",
  "nul\0inside",
  "tab\tline\nend",
  "😀 emoji",
  "\uffee before",
  "é composed",
  "e\u0301 combined",
  "__proto__",
  "constructor",
  "slash/inside",
  "tilde~inside",
  "~0",
  "~1",
  "a/~1",
  " leading",
  "trailing ",
  "UPPER",
  "upper",
  "{tag}",
  ":colon:",
  "x".repeat(1024),
  "ü".repeat(512),
];

/** Listing and watching. */
export const listingCases: Readonly<Record<string, CaseBody>> = {
  "odd names are kept apart, found again and listed as they are": async ({ first, second }) => {
    const keys = oddNames.map((name): RecordKey => ["contract", "odd", name]);
    for (const [n, key] of keys.entries()) await put(first, key, n);
    for (const [n, key] of keys.entries()) assert.equal(await get(second, key), n, String(key[2]));
    const listed = await listAll(second, ["contract", "odd"], { limit: 1000 });
    assert.deepEqual(listed, inStoredOrder(keys));
  },

  "odd characters in any part of a key do not make two keys meet": async ({ first, second }) => {
    const keys: RecordKey[] = [
      ["contract", "x/y", "z"],
      ["contract", "x", "y/z"],
      ["contract", "x", "y", "z"],
      ["contract", "x~1y", "z"],
      ["contract", "x"],
      ["contract", "x", ""],
    ];
    for (const [n, key] of keys.entries()) await put(first, key, n);
    for (const [n, key] of keys.entries()) assert.equal(await get(second, key), n);
    assert.equal((await listAll(first, ["contract", "x"], { limit: 10 })).length, 3);
  },

  "a listing shows the records below its prefix alone, in stored order": async (world) => {
    const { first, second } = world;
    const inside = ["b", "a", "c/d", "c", "ü", "😀", "\uffee"];
    for (const name of inside) await put(first, ["contract", "in", name], name);
    for (const key of [
      ["contract", "in"],
      ["contract", "inn", "a"],
      ["contract", "im", "z"],
    ]) {
      await put(first, key, "outside");
    }
    const keys = inside.map((name): RecordKey => ["contract", "in", name]);
    const page = await second.scan(["contract", "in"], { limit: 1000 }, {});
    assert.deepEqual(
      page.records.map(({ key }) => key),
      inStoredOrder(keys),
    );
    assert.deepEqual(
      page.records.map(({ key, value }) => value === key[2]),
      keys.map(() => true),
    );
    assert.equal(page.next, undefined);
    assert.ok(Number.isSafeInteger(page.now));
  },

  "a listing of nothing is one empty page": async ({ first }) => {
    const page = await first.scan(["contract", "nothing"], { limit: 5 }, {});
    assert.deepEqual(page.records, []);
    assert.equal("next" in page, false);
  },

  "pages of any size show each record once": async ({ first, second }) => {
    const keys = Array.from({ length: 23 }, (_, n): RecordKey => ["contract", "page", `n${n}`]);
    await Promise.all(keys.map((key) => put(first, key, 1)));
    for (const limit of [1, 7, 22, 23, 24]) {
      const listed = await listAll(second, ["contract", "page"], { limit });
      assert.deepEqual(listed, inStoredOrder(keys), `pages of ${limit}`);
    }
  },

  "records made and deleted between pages disturb no other": async ({ first }) => {
    const keys = "abcdefgh".split("").map((name): RecordKey => ["contract", "moving", name]);
    for (const key of keys) await put(first, key, 1);
    const page = await first.scan(["contract", "moving"], { limit: 4 }, {});
    await put(first, ["contract", "moving", "a1"], 1);
    await put(first, ["contract", "moving", "d"], null);
    await put(first, ["contract", "moving", "f"], null);
    const after = page.next as string;
    const rest = await first.scan(["contract", "moving"], { limit: 4, after }, {});
    assert.deepEqual(
      rest.records.map(({ key }) => key[2]),
      ["e", "g", "h"],
    );
  },

  "a partial name lists what begins with it": async ({ first }) => {
    const names = ["job/1", "job/2", "job~", "jobs", "jo", "k", "job%", "jo_"];
    for (const name of names) await put(first, ["contract", "part", name], 1);
    const expected: Record<string, number> = { job: 5, "job/": 2, "job~": 1, jo_: 1, "": 8, z: 0 };
    for (const [partial, count] of Object.entries(expected)) {
      const listed = await listAll(first, ["contract", "part"], { limit: 2, partial });
      assert.equal(listed.length, count, `beginning with "${partial}"`);
    }
  },

  "a limit outside 1 to 1000 is refused": async ({ first }) => {
    for (const limit of [0, -1, 1001, 1.5, Number.NaN]) {
      const error = await errorOf(first.scan(["contract"], { limit }, {}));
      assert.ok(error instanceof InvalidArgumentError);
    }
  },

  "a watcher is told of commits below its prefix by either client": async (world) => {
    const { first, second, clock } = world;
    if (!first.capabilities.hints) return;
    for (const writer of [second, first]) {
      const stop = new AbortController();
      const hints = first.watch(["contract", "seen"], { signal: stop.signal });
      const iterator = hints[Symbol.asyncIterator]();
      const told = iterator.next();
      await repeatUntil(clock, told, () => put(writer, ["contract", "seen", "x"], 1));
      const { value } = await within(clock, told, "a hint");
      assert.deepEqual(value?.key.slice(0, 2), ["contract", "seen"]);
      stop.abort();
    }
  },

  "the watcher of a presence is told of hints that name it": async (world) => {
    const { first, second, clock } = world;
    if (!first.capabilities.hints) return;
    const presence: RecordKey = ["presence", "contract", "a-presence_1"];
    const stop = new AbortController();
    const iterator = first.watch(presence, { signal: stop.signal })[Symbol.asyncIterator]();
    const told = iterator.next();
    const write = { key: ["contract", "other"], value: 1 };
    const decided = { writes: [write], outcome: 0, hints: [presence] };
    await repeatUntil(clock, told, () => second.transact([write.key], () => decided, {}));
    const { value } = await within(clock, told, "a hint for the presence");
    assert.deepEqual(value?.key, presence);
    stop.abort();
  },

  "a watch ends when its signal fires": async ({ first, clock }) => {
    const stop = new AbortController();
    const iterator = first.watch(["contract"], { signal: stop.signal })[Symbol.asyncIterator]();
    const end = iterator.next();
    stop.abort();
    assert.equal((await within(clock, end, "the end of the watch")).done, true);
    assert.equal((await iterator.next()).done, true);
    const late = first.watch(["contract"], { signal: stop.signal })[Symbol.asyncIterator]();
    assert.equal((await within(clock, late.next(), "the end of a late watch")).done, true);
  },

  "a watch ends when the engine closes": async ({ first, clock }) => {
    const { signal } = new AbortController();
    const iterator = first.watch(["contract"], { signal })[Symbol.asyncIterator]();
    const end = iterator.next();
    await first.close();
    assert.equal((await within(clock, end, "the end of the watch")).done, true);
  },
};

/** All keys of a listing, page after page; a page that brings nothing new ends it. */
async function listAll(
  engine: Engine,
  prefix: RecordKey,
  request: PageRequest,
): Promise<RecordKey[]> {
  const keys: RecordKey[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < 1000; pages += 1) {
    const page = await engine.scan(prefix, { ...request, after }, {});
    assert.ok(page.records.length <= request.limit);
    keys.push(...page.records.map(({ key }) => key));
    if (page.next === undefined) return keys;
    after = page.next;
  }
  return assert.fail("the listing does not end");
}

/** Hints may be lost, so the commit is repeated until one comes, within bounds. */
async function repeatUntil(
  clock: Clock,
  told: Promise<unknown>,
  commit: () => Promise<unknown>,
): Promise<void> {
  const state = { isTold: false };
  const noting = told.then(() => (state.isTold = true));
  for (let n = 0; n < 20 && !state.isTold; n += 1) {
    await commit();
    await Promise.race([noting, new Promise<void>((resume) => clock.yield(resume))]);
  }
}

function inStoredOrder(keys: readonly RecordKey[]): RecordKey[] {
  return keys.toSorted((x, y) =>
    Buffer.compare(Buffer.from(encodeKey(x)), Buffer.from(encodeKey(y))),
  );
}
