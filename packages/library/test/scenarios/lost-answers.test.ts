import { expect, test } from "vitest";

import { open } from "../../src/open.ts";
import { scenario, track, within } from "./world.ts";

/** Administrative calls whose first answer is lost, or which end before they are through. */

scenario("forceRelease tells what it ended although its answer was lost [L117]", async (world) => {
  const holder = await world.client();
  const admin = await world.client();
  await holder.space.acquire("n", { mode: "shared", owner: "one" });
  await holder.space.acquire("n", { mode: "shared", owner: "two" });
  admin.engine.failNext({ kind: "unknown-applied" });
  const forced = await within(
    world.clock,
    2_000,
    admin.space.forceRelease("n", { reason: "stuck" }),
  );
  expect(forced.ended).toEqual([
    { token: 1, owner: "one" },
    { token: 2, owner: "two" },
  ]);
  admin.engine.failNext({ kind: "unknown-lost" });
  const nothing = admin.space.forceRelease("n", { reason: "again" });
  expect((await within(world.clock, 2_000, nothing)).ended).toEqual([]);
});

scenario("releaseClaim is true although its answer was lost [L94] [L117]", async (world) => {
  const a = await world.client();
  await a.space.tryClaim("n", "web-1");
  a.engine.failNext({ kind: "unknown-applied" });
  expect(await within(world.clock, 2_000, a.space.releaseClaim("n", "web-1"))).toBe(true);
  a.engine.failNext({ kind: "unknown-lost" });
  expect(await within(world.clock, 2_000, a.space.releaseClaim("n", "web-1"))).toBe(false);
});

scenario("a claim resumed meanwhile is not reported as freed [L94] [L117]", async (world) => {
  const a = await world.client();
  const b = await world.client();
  await a.space.tryClaim("n", "web-1");
  a.engine.failNext({ kind: "unknown-lost" });
  const releasing = track(a.space.releaseClaim("n", "web-1"));
  const resumed = await b.space.resume("n", "web-1");
  await world.clock.advance(2_000);
  expect(releasing.value()).toBe(false);
  expect(resumed?.state).toBe("held");
});

scenario("raiseFloor that a close cuts short does not say that it is done [L65]", async (world) => {
  const a = await world.client();
  for (let serial = 0; serial < 150; serial += 1) {
    await (await a.space.acquire(`n-${serial}`)).release();
  }
  const first = a.engine.calls;
  // The first page of counters is on its way when the space closes.
  a.engine.fault = ({ serial }) =>
    serial > first ? { kind: "late-answer", ms: 100 } : { kind: "pass" };
  const raising = track(a.space.raiseFloor({ to: 1_000, reason: "restored" }));
  await world.clock.advance(50);
  const closing = a.space.close();
  await within(world.clock, 6_000, closing);
  await world.clock.advance(1_000);
  expect(raising.error()).toMatchObject({ code: "SPACE_CLOSED" });
});

scenario("a fired signal ends a reading call with LOCK_ABORTED [L31]", async (world) => {
  const { space } = await world.client();
  const signal = AbortSignal.abort(new Error("enough"));
  const history = async (): Promise<unknown> => {
    for await (const entry of space.history({ signal })) return entry;
    return undefined;
  };
  for (const call of [
    () => space.status("n", { signal }),
    () => space.why("n", { signal }),
    () => space.list({ signal }),
    () => space.sweep({ signal }),
    history,
  ]) {
    const expected = { code: "LOCK_ABORTED", cause: { message: "enough" } };
    await expect(call()).rejects.toMatchObject(expected); // L31
  }
});

scenario("an abort while a status is under way rejects with LOCK_ABORTED", async (world) => {
  const { space, engine } = await world.client();
  const abort = new AbortController();
  engine.fault = () => ({ kind: "drop" });
  const looking = track(space.status("n", { signal: abort.signal }));
  await world.clock.settle();
  abort.abort("enough");
  await world.clock.settle();
  expect(looking.error()).toMatchObject({ code: "LOCK_ABORTED", lock: "n", cause: "enough" });
});

test("a listener that rejects is told as an error event, not as an unhandled one [L50]", async () => {
  await using space = await open("memory:");
  const errors: unknown[] = [];
  space.on("error", (facts) => {
    errors.push(facts);
    return Promise.reject(new Error("again")) as never;
  });
  space.on("acquired", () => Promise.reject(new Error("listener")) as never);
  await space.acquire("n");
  await new Promise((resolve) => setImmediate(resolve));
  expect(errors).toMatchObject([
    { while: "a listener of acquired", error: { message: "listener" } },
  ]);
});
