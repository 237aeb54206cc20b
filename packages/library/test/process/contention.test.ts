import { DatabaseSync } from "node:sqlite";

import { expect, test } from "vitest";

import { open } from "../../src/index.ts";
import { Puppet } from "./puppet.ts";
import { ScratchStore, until } from "./scratch-store.ts";

test(
  "LS84 a foreign writer that holds the store for 200 ms at a time causes no error [L18] [L115]; case 058",
  { timeout: 90_000 },
  async () => {
    using store = new ScratchStore();
    const puppets: Puppet[] = [];
    await using space = await open(store.url);
    await space.status("hot");
    const foreign = new DatabaseSync(store.path, { timeout: 5_000 });
    foreign.exec("CREATE TABLE foreign_rows (id INTEGER PRIMARY KEY)");
    const foreignWriter = { isOver: false };
    const writing = (async () => {
      while (!foreignWriter.isOver) {
        foreign.exec("BEGIN IMMEDIATE; INSERT INTO foreign_rows DEFAULT VALUES");
        await new Promise((resume) => setTimeout(resume, 200));
        foreign.exec("COMMIT");
        await new Promise((resume) => setTimeout(resume, 100));
      }
    })();
    try {
      for (let i = 0; i < 8; i += 1) puppets.push(await Puppet.open(store.url));
      const hot = puppets.map((each) => each.ask({ do: "race", name: "hot", rounds: 4 }));
      const own = puppets.map((each, i) => each.ask({ do: "race", name: `own-${i}`, rounds: 4 }));
      const replies = await Promise.all([...hot, ...own]);
      expect(replies.map(({ code }) => code).filter((code) => code !== undefined)).toEqual([]);
      const tokens = (await Promise.all(hot)).flatMap(({ value }) => value as number[]);
      expect(tokens.toSorted((a, b) => a - b)).toEqual(tokens.map((_, i) => i + 1));
    } finally {
      foreignWriter.isOver = true;
      await writing;
      foreign.close();
      for (const each of puppets) each.kill();
    }
  },
);

test(
  "LS31 a thousand idle waiters cost few commits, and none while nothing changes [L37] [L121]; case 131",
  { timeout: 90_000 },
  async () => {
    using store = new ScratchStore();
    await using space = await open(store.url);
    const held = await space.acquire("n");
    const puppets = await Promise.all([Puppet.open(store.url), Puppet.open(store.url)]);
    try {
      for (const each of puppets) {
        for (let i = 0; i < 500; i += 1) void each.acquire("n", { wait: "60s" });
      }
      await until(async () => (await space.status("n")).depth === 1_000, 60_000);
      const foreign = new DatabaseSync(store.path, { timeout: 5_000 });
      const version = (): number =>
        (foreign.prepare("PRAGMA data_version").get() as { data_version: number }).data_version;
      const commitsOf = async (seconds: number): Promise<number> => {
        let commits = 0;
        let last = version();
        const endMs = performance.now() + seconds * 1_000;
        while (performance.now() < endMs) {
          await new Promise((resume) => setTimeout(resume, 2));
          const now = version();
          if (now !== last) commits += 1;
          last = now;
        }
        return commits;
      };
      // [L37] [L121] nothing stays open while they wait: presence renewals and the holder's own
      // renewals only: far below one a waiter.
      expect(await commitsOf(4)).toBeLessThan(40);
      foreign.close();
      await held.release();
    } finally {
      for (const each of puppets) each.kill();
    }
  },
);

test(
  "LS74 a process killed at any instant of its acquire blocks nobody beyond its lease [L118]; case 049",
  { timeout: 90_000 },
  async () => {
    using store = new ScratchStore();
    await using space = await open(store.url);
    for (let round = 0; round < 8; round += 1) {
      const name = `n${round % 3}`;
      const puppet = await Puppet.open(store.url, { lease: "500ms", presenceLease: "3s" });
      void puppet.ask({ do: "race", name, rounds: 1_000 });
      await new Promise((resume) => setTimeout(resume, 5 * round));
      puppet.kill();
      const killedMs = performance.now();
      const lease = await space.acquire(name, { wait: "20s" });
      // The lease of the killed process, and a second; the rest is for a slow machine.
      expect(performance.now() - killedMs).toBeLessThan(500 + 1_000 + 1_500);
      await lease.release();
      // [L118] whatever was stored has an end.
      for (const { holders } of (await space.list()).locks) {
        expect(holders.every(({ expiresAt }) => Number.isSafeInteger(expiresAt))).toBe(true);
      }
    }
  },
);
