import { expect } from "vitest";

import type { Leader } from "../../src/lock/election-api.ts";
import { scenario, track } from "./world.ts";

scenario(
  "LS146 one leader at a time, and its changes are seen [L102] [L103] [L104]",
  async (world) => {
    const clients = [await world.client(), await world.client(), await world.client()] as const;
    const observer = await world.client();
    const seen: (Leader | null)[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      const observed = observer.space.election("e").observe({ signal: stop.signal });
      for await (const leader of observed) seen.push(leader);
    })();
    await world.clock.advance(100);
    expect(seen).toEqual([null]); // L103: the present state first.
    const options = { lease: "3s", owner: "one" } as const;
    const first = await clients[0].space.election("e").campaign({ at: "a" }, options);
    const second = track(clients[1].space.election("e").campaign({ at: "b" }, { owner: "two" }));
    await world.clock.settle();
    const third = track(clients[2].space.election("e").campaign("c", { owner: "three" }));
    await world.clock.advance(1_000);
    expect(await observer.space.election("e").leader()).toMatchObject({
      value: { at: "a" },
      owner: "one",
      token: 1,
    });
    await first.proclaim({ at: "moved" }); // L104
    await world.clock.advance(1_000);
    expect(seen.at(-1)).toMatchObject({ value: { at: "moved" }, token: 1 });
    expect([second.state(), third.state()]).toEqual(["waiting", "waiting"]); // L102
    clients[0].kill();
    await world.clock.advance(6_000);
    expect(second.state()).toBe("resolved");
    expect(await second.value().resign()).toBe(true);
    await world.clock.advance(1_000);
    expect(third.state()).toBe("resolved");
    await third.value().resign();
    await world.clock.advance(1_000);
    const tokens = seen.flatMap((leader) => (leader === null ? [] : [leader.token]));
    expect(tokens).toEqual(tokens.toSorted((one, other) => one - other)); // L103
    expect(new Set(tokens)).toEqual(new Set([1, 2, 3]));
    expect(seen.at(-1)).toBeNull();
    stop.abort();
    await watching;
  },
);

scenario("LS146 a value changes only while the leadership is live [L104] [L39]", async (world) => {
  const [a, admin] = [await world.client(), await world.client()];
  const leadership = await a.space.election("e").campaign(null, { renew: "manual" });
  await expect(leadership.proclaim("x".repeat(5_000))).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    parameter: "value",
  });
  for (const value of [undefined, () => 1, Number.NaN, 10n]) {
    const refused = { code: "INVALID_ARGUMENT", parameter: "value" };
    await expect(leadership.proclaim(value as never)).rejects.toMatchObject(refused);
  }
  await admin.space.forceRelease("e", { reason: "enough" });
  const lost = { code: "LEASE_LOST", reason: "forced" };
  await expect(leadership.proclaim("late")).rejects.toMatchObject(lost); // L104
  expect(await a.space.election("e").leader()).toBeNull();
});
