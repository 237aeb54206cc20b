import { expect, test } from "vitest";

import { open } from "../../src/index.ts";
import { Puppet, nowMs } from "./puppet.ts";
import { ScratchStore, until } from "./scratch-store.ts";

const lease = { lease: "2s" } as const;

test("LS22 real waiters are served before any newcomer [L18]", { timeout: 60_000 }, async () => {
  using store = new ScratchStore();
  using holder = await Puppet.open(store.url, lease);
  using waiter = await Puppet.open(store.url, lease);
  using newcomer = await Puppet.open(store.url, lease);
  await using observer = await open(store.url);
  for (let round = 0; round < 40; round += 1) {
    const { value: token } = await holder.acquire("n", { wait: "20s" });
    const depth = async (): Promise<number> => (await observer.status("n")).depth;
    const waiting = [];
    for (let place = 1; place <= 3; place += 1) {
      waiting.push(waiter.acquire("n", { wait: "20s" }));
      await until(async () => (await depth()) === place);
    }
    const racing = newcomer.ask({ do: "race", name: "n", rounds: 3 });
    await holder.ask({ do: "release", token: token as number });
    const grants: number[] = [];
    for (const each of waiting) {
      const { value } = await each;
      grants.push(value as number);
      await waiter.ask({ do: "release", token: value as number });
    }
    const later = (await racing).value as number[];
    const first = token as number;
    // [L18] the three that waited, in their order, then the newcomer's.
    expect(grants).toEqual([first + 1, first + 2, first + 3]);
    expect(later.every((each) => each > first + 3)).toBe(true);
  }
});

test(
  "LS138 of eight processes that claim at once exactly one gets it [L18] [L93]",
  { timeout: 60_000 },
  async () => {
    using store = new ScratchStore();
    const puppets: Puppet[] = [];
    try {
      for (let i = 0; i < 8; i += 1) puppets.push(await Puppet.open(store.url));
      for (let round = 0; round < 10; round += 1) {
        const name = `work-${round}`;
        const claims = puppets.map((each, i) => each.ask({ do: "claim", name, owner: `web-${i}` }));
        const answers = (await Promise.all(claims)).map(({ value }) => value);
        expect(answers.filter((answer) => answer === true)).toHaveLength(1);
        expect(answers.filter((answer) => answer === false)).toHaveLength(7);
      }
    } finally {
      for (const each of puppets) each.kill();
    }
  },
);

test(
  "LS26 a waiter gets the lock of a killed process at its end, every time [L36]; case 005, case 046 [LS73]",
  { timeout: 60_000 },
  async () => {
    using store = new ScratchStore();
    const names = Array.from({ length: 50 }, (_, i) => `n${i}`);
    await using space = await open(store.url);
    const holder = await Puppet.open(store.url, lease);
    await Promise.all(names.map((name) => holder.acquire(name)));
    const waiting = names.map((name) => space.acquire(name, { wait: "20s" }));
    await until(async () => (await space.status("n49")).depth === 1);
    const ends = await Promise.all(
      names.map(async (name) => (await space.status(name)).holders[0]),
    );
    holder.kill();
    const killedMs = nowMs();
    const leases = await Promise.all(waiting);
    // [L36] no later than the last end and a second; a slow machine gets another.
    expect(nowMs() - killedMs).toBeLessThan(2_000 + 1_000 + 1_000);
    for (const [i, each] of leases.entries()) {
      expect(each.token).toBe(2);
      expect(each.grantedAt).toBeGreaterThanOrEqual(ends[i]?.expiresAt ?? Infinity);
    }
    expect((await space.status("n49")).depth).toBe(0);
  },
);

test(
  "LS39 LS40 the five hundred waiters of a killed process are passed over [L21] [L24]",
  { timeout: 60_000 },
  async () => {
    using store = new ScratchStore();
    const options = { presenceLease: "3s", confirmWindow: "1s" } as const;
    await using space = await open(store.url, options);
    const held = await space.acquire("n");
    const crowd = await Puppet.open(store.url, options);
    for (let i = 0; i < 500; i += 1) void crowd.acquire("n", { wait: "60s" });
    await until(async () => (await space.status("n")).depth === 500);
    const next = await Puppet.open(store.url, options);
    const waiting = next.acquire("n", { wait: "60s" });
    await until(async () => (await space.status("n")).depth === 501);
    crowd.kill();
    const killedMs = nowMs();
    await held.release();
    const { value, atMs } = await waiting;
    // [L21] the whole dead process delays the next one by its presence and one confirm window.
    expect(atMs - killedMs).toBeLessThan(3_000 + 1_000 + 3_000);
    expect(value).toBeGreaterThan(1);
    next.kill();
  },
);
