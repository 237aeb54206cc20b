import { expect } from "vitest";

import type { LockRecord } from "../../src/core/lock/record.ts";
import { rejection } from "./settling.ts";
import { scenario, track } from "./world.ts";

scenario(
  "LS153 a forced end hands over in its commit [L20] [L110] [L111] [L112]",
  async (world) => {
    const [a, b] = [await world.client(), await world.client()];
    const admin = await world.client({ app: "console" });
    const held = await a.space.acquire("n");
    const { signal } = held;
    const waiting = track(b.space.acquire("n", { wait: "1m" }));
    await world.clock.settle();
    const commits = admin.engine.commits.length;
    const shown = (await admin.space.status("n")).token;
    const forced = await admin.space.forceRelease("n", { reason: "stuck", token: shown });
    expect(forced).toEqual({ ended: [{ token: 1, owner: held.owner }] });
    const [commit, ...more] = admin.engine.commits.slice(commits);
    expect(more).toEqual([]);
    const written = commit?.writes.find(({ key }) => key[0] === "lock")?.value;
    // L20: the successor stands in the same commit, and so does the audit entry (L112).
    expect((written as unknown as LockRecord).grants).toMatchObject([{ token: 2 }]);
    expect(commit?.writes.find(({ key }) => key[0] === "audit")?.value).toMatchObject({
      name: "n",
      token: 1,
      kind: "forced",
      owner: held.owner,
      by: { host: "host-3", pid: 3, app: "console" },
      reason: "stuck",
      at: await world.now(),
    });
    await world.clock.advance(200);
    expect(waiting.value().token).toBe(2); // A guard refuses token 1 once B has written with it.
    expect(held.state).toBe("held"); // L111: until its next renewal its holder believes so.
    await world.clock.advance(10_000);
    expect(held.state).toBe("lost");
    expect(signal.reason).toMatchObject({
      code: "LEASE_LOST",
      reason: "forced",
      token: 1,
      by: "console at host-3/3",
      why: "stuck",
    });
    const history = [];
    for await (const entry of admin.space.history({ name: "n" })) history.push(entry);
    expect(history).toMatchObject([{ kind: "forced", token: 1, reason: "stuck" }]);
    waiting.value().assertHeld();
  },
);

scenario("LS153 a token that is not current disturbs nothing [L110]", async (world) => {
  const [a, admin] = [await world.client(), await world.client()];
  await (await a.space.acquire("n")).release();
  const held = await a.space.acquire("n");
  const before = await world.record("n");
  for (const token of [1, 3, 99]) {
    const forced = await admin.space.forceRelease("n", { reason: "stuck", token });
    expect(forced).toEqual({ ended: [] });
  }
  expect(await world.record("n")).toEqual(before);
  expect(await world.keys("audit")).toEqual([]);
  await held.renew();
  for (const reason of ["", undefined, 7]) {
    const refused = await rejection(admin.space.forceRelease("n", { reason } as never));
    expect(refused).toMatchObject({ code: "INVALID_ARGUMENT", parameter: "reason" }); // L110
  }
});

scenario("LS153 force ends a lapsed leftover; a free lock has nothing [L110]", async (world) => {
  const [a, admin] = [await world.client(), await world.client()];
  const lapsing = await a.space.acquire("n", { lease: "1s", renew: "manual" });
  await world.clock.advance(2_000);
  const forced = await admin.space.forceRelease("n", { reason: "tidy" });
  expect(forced).toEqual({ ended: [{ token: 1, owner: lapsing.owner }] });
  expect(await world.record("n")).toMatchObject({ grants: [], ended: [{ how: "forced" }] });
  for (const name of ["n", "untouched"]) {
    expect(await admin.space.forceRelease(name, { reason: "tidy" })).toEqual({ ended: [] });
  }
  expect(await world.record("untouched")).toBeUndefined();
});

scenario("LS153 force ends all shared holders, or the one named [L110]", async (world) => {
  const [a, admin] = [await world.client(), await world.client()];
  const three = [];
  for (let i = 0; i < 3; i += 1) three.push(await a.space.acquire("n", { mode: "shared" }));
  const one = await admin.space.forceRelease("n", { reason: "one", token: 2 });
  expect(one.ended.map(({ token }) => token)).toEqual([2]);
  await three[0]?.renew();
  await three[2]?.renew();
  const all = await admin.space.forceRelease("n", { reason: "all" });
  expect(all.ended.map(({ token }) => token)).toEqual([1, 3]);
  expect(await world.status("n")).toMatchObject({ state: "free" });
});

for (const reach of ["ended list", "audit"] as const) {
  scenario(`LS171 a forced end is told from the ${reach} [L39] [L111]`, async (world) => {
    const [a, b] = [await world.client(), await world.client()];
    const admin = await world.client({ app: "console" });
    const held = await a.space.acquire("n");
    await admin.space.forceRelease("n", { reason: "stuck" });
    const rounds = reach === "audit" ? 4 : 3;
    for (let i = 0; i < rounds; i += 1) await (await b.space.acquire("n")).release();
    const remembered = (await world.record("n"))?.ended.some(({ token }) => token === 1);
    expect(remembered).toBe(reach === "ended list"); // The list keeps four.
    expect(await rejection(held.renew())).toMatchObject({
      code: "LEASE_LOST",
      retry: "change",
      reason: "forced",
      token: 1,
      by: "console at host-3/3",
      why: "stuck",
    });
    expect(held.state).toBe("lost");
    expect(await held.release()).toBe(false);
  });
}
