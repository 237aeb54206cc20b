import { expect } from "vitest";

import { decodeKey, encodeKey } from "../../src/core/key.ts";
import type { Lease } from "../../src/lock/lease-api.ts";
import type { Space } from "../../src/lock/space-api.ts";
import { badCalls, badSpaceOptions, noOptions, oddNames, optionCalls } from "./bad-calls.ts";
import type { Row } from "./bad-calls.ts";
import { rejection } from "./settling.ts";
import { scenario, type Client } from "./world.ts";

/** A value as errors show it; long texts are cut, which this does not repeat. */
function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value).slice(0, 40).replace(/"$/u, "");
  if (typeof value === "bigint") return "10n";
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** What a call leads to, be it thrown at once or later. */
async function outcomeOf(call: () => unknown): Promise<unknown> {
  return rejection((async () => call())());
}

async function expectRefused(client: Client, lease: Lease, row: Row): Promise<void> {
  const { parameter, values, calls } = row;
  for (const [place, call] of calls.entries()) {
    for (const value of values) {
      const where = `${parameter}, call ${place}, ${shown(value)}`;
      const error = await outcomeOf(() => call(client.space, lease, value as never));
      const code = "INVALID_ARGUMENT";
      expect(error, where).toMatchObject({ code, parameter, retry: "change", status: 400 });
      expect((error as { value: string }).value, where).toContain(shown(value));
      expect((error as Error).message, where).toContain(parameter);
    }
  }
}

scenario("wrong arguments are refused by name and value, unsent [L3] [L6]", async (world) => {
  const client = await world.client();
  const lease = await client.space.acquire("held", { renew: "manual" });
  const [calls, listings, events] = [
    client.engine.calls,
    client.engine.listings,
    client.events.length,
  ];
  for (const row of badCalls) await expectRefused(client, lease, row);
  expect(client.engine.calls).toBe(calls);
  expect(client.engine.listings).toBe(listings);
  expect(client.events).toHaveLength(events);
  lease.assertHeld();
  // A close that was refused has closed nothing, and a right one does.
  expect(await lease.release()).toBe(true);
  await client.space.close();
  expect(await outcomeOf(() => client.space.acquire("n"))).toMatchObject({ code: "SPACE_CLOSED" });
});

scenario("unknown options and what is no options are refused [L6]", async (world) => {
  const { space, engine } = await world.client();
  const lease = await space.acquire("held");
  const [calls, listings] = [engine.calls, engine.listings];
  for (const [name, call] of Object.entries(optionCalls)) {
    for (const value of noOptions) {
      const error = await outcomeOf(() => call(space, lease, value as never));
      expect(error, name).toMatchObject({ code: "INVALID_ARGUMENT", parameter: "options" });
    }
    for (const unknown of ["lesae", "timeout", "constructor", "0", ""]) {
      const options = { [unknown]: 5 } as never;
      const error = await outcomeOf(() => call(space, lease, options));
      expect(error, name).toMatchObject({ code: "INVALID_ARGUMENT", parameter: unknown });
      expect((error as { value: string }).value).toBe("5");
    }
  }
  const watched = await outcomeOf(() => space.watch({ prefix: "a", name: "b" } as never));
  expect(watched).toMatchObject({ code: "INVALID_ARGUMENT", parameter: "name" });
  expect([engine.calls, engine.listings]).toEqual([calls, listings]);
});

scenario("arguments come first, then the space, then the signal [L6]", async (world) => {
  const closed = (await world.client()).space;
  await closed.close();
  const readOnly = (await world.client({ readOnly: true })).space;
  const signal = AbortSignal.abort("gone");
  for (const space of [closed, readOnly]) {
    for (const call of Object.values(optionCalls).slice(0, -1)) {
      const error = await outcomeOf(() => call(space, null as never, { odd: 1 } as never));
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT", parameter: "odd" });
    }
    const wrong = [
      () => space.list({ limit: 0, signal }),
      () => space.history({ since: -1, signal }),
      () => space.acquire("n", { lease: 1, signal }),
      () => space.resume("n", "", { signal }),
    ];
    for (const call of wrong) {
      expect(await outcomeOf(call)).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  }
  const calls = [
    (space: Space) => space.acquire("n", { signal }),
    (space: Space) => space.tryAcquire("n", { signal }),
    (space: Space) => space.claim("n", "o", { signal }),
    (space: Space) => space.tryClaim("n", "o", { signal }),
    (space: Space) => space.resume("n", "o", { signal }),
  ];
  for (const call of calls) {
    expect(await outcomeOf(() => call(closed))).toMatchObject({ code: "SPACE_CLOSED" });
    expect(await outcomeOf(() => call(readOnly))).toMatchObject({ code: "READ_ONLY" });
  }
});

scenario("a space is not opened with a wrong option [L6]", async (world) => {
  for (const [parameter, values] of Object.entries(badSpaceOptions)) {
    for (const value of values) {
      const error = await outcomeOf(() => world.client({ [parameter]: value }));
      expect(error, `${parameter}: ${shown(value)}`).toMatchObject({
        code: "INVALID_ARGUMENT",
        parameter,
      });
      expect((error as { value: string }).value).toContain(shown(value));
    }
  }
  expect(await world.keys("internal")).toEqual([]);
});

scenario("odd names are ordinary, one byte too many is not [L1] [L2]", async (world) => {
  const a = await world.client();
  const b = await world.client();
  for (const name of oddNames) {
    const lease = await a.space.acquire(name, { owner: name.slice(0, 64), note: name });
    expect(lease).toMatchObject({ name, token: 1 });
    expect(await b.space.tryAcquire(name)).toBeNull();
    const { holders } = await b.space.status(name);
    expect(holders).toMatchObject([{ note: name, token: 1 }]);
    expect(decodeKey(encodeKey(["lock", "default", name]))).toEqual(["lock", "default", name]);
    const page = await b.space.list({ prefix: name });
    expect(page.locks.map((lock) => lock.name)).toContain(name);
  }
  expect((await b.space.list()).locks).toHaveLength(oddNames.length);
  for (const name of ["x".repeat(1_025), `${"ä".repeat(512)}x`, `${"🔒".repeat(256)}x`]) {
    const error = await outcomeOf(() => a.space.acquire(name));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", parameter: "name", limit: 1_024 });
  }
});
