import { expect, test } from "vitest";

import { LeaseLostError } from "../../src/errors.ts";
import { scenario, track, within } from "./world.ts";

scenario("what is granted while the space closes is given back [L119]", async (world) => {
  const { space, engine } = await world.client();
  engine.fault = () => ({ kind: "late-answer", ms: 300 });
  const calls = [space.tryAcquire("a"), space.acquire("b", { wait: 0 })];
  const claiming = space.tryClaim("c", "owner");
  const tracked = [...calls, claiming].map((call) => track<unknown>(call));
  await within(world.clock, 5_000, space.close());
  await world.clock.advance(1_000);
  for (const { error } of tracked) expect(error()).toMatchObject({ code: "SPACE_CLOSED" });
  for (const name of ["a", "b", "c"]) {
    expect((await world.record(name))?.grants).toEqual([]);
  }
});

scenario("a call between two attempts settles when the space closes [I18]", async (world) => {
  const { space, engine } = await world.client();
  engine.fault = () => ({ kind: "drop" });
  const call = track(space.status("n"));
  await world.clock.advance(20);
  await within(world.clock, 5_000, space.close({ grace: 0 }));
  await world.clock.advance(6_000);
  expect(call.state()).toBe("rejected");
  expect(call.error()).toMatchObject({ code: "SPACE_CLOSED" });
});

scenario("closing takes no longer than its grace [L119]", async (world) => {
  const { space, engine } = await world.client();
  await space.acquire("n");
  engine.fault = () => ({ kind: "hang" });
  const closing = track(space.close({ grace: 500 }));
  await world.clock.advance(510);
  expect(closing.state()).toBe("resolved");
});

scenario(
  "an attempt that may be stored is cancelled whatever ends the call [L117]",
  async (world) => {
    const { space, engine } = await world.client();
    let calls = 0;
    engine.fault = () => {
      calls += 1;
      if (calls === 1) return { kind: "unknown-applied" };
      return calls === 2 ? { kind: "fail" } : { kind: "pass" };
    };
    const call = track(space.tryAcquire("n"));
    await world.clock.advance(3_000);
    expect(call.error()).toMatchObject({ code: "ENGINE_UNAVAILABLE", outcome: "unknown" });
    expect((await world.record("n"))?.grants).toEqual([]);
  },
);

scenario(
  "an aborted wait leaves no timer behind, also between two attempts [L122]",
  async (world) => {
    const { space, engine } = await world.client();
    const before = world.clock.referencedCount;
    engine.fault = () => ({ kind: "drop" });
    const abort = new AbortController();
    const call = track(space.acquire("n", { wait: "1m", signal: abort.signal }));
    await world.clock.advance(300);
    abort.abort();
    await world.clock.settle();
    expect(call.error()).toMatchObject({ code: "LOCK_ABORTED" });
    engine.fault = () => ({ kind: "pass" });
    await world.clock.advance(2_000);
    expect(world.clock.referencedCount).toBe(before);
  },
);

scenario(
  "automatic renewal waits for another change instead of asking again and again [L42]",
  async (world) => {
    const { space, engine } = await world.client();
    const lease = await space.acquire("n", { lease: 1_000 });
    engine.fault = () => ({ kind: "late-answer", ms: 450 });
    const before = engine.calls;
    const renewing = lease.renew();
    await world.clock.advance(440);
    expect(engine.calls - before).toBe(1);
    await within(world.clock, 1_000, renewing);
  },
);

test("an error tells nothing of what the caller's own code returned, and knows its subclasses", () => {
  class OwnError extends LeaseLostError {}
  const facts = { lock: "n", token: 1, reason: "expired", result: { secret: 1 } } as const;
  const error = new OwnError(facts);
  expect(JSON.stringify(error)).not.toContain("secret");
  expect(error.result).toEqual({ secret: 1 });
  expect(error).toBeInstanceOf(OwnError);
  expect(error).toBeInstanceOf(LeaseLostError);
});
