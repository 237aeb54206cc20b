import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

import { expect, test } from "vitest";

import { Puppet } from "./puppet.ts";
import { ScratchStore } from "./scratch-store.ts";

test(
  "LS178 a log that is removed under a holder makes no second holder [L116] [I4]",
  { timeout: 60_000 },
  async () => {
    using store = new ScratchStore();
    using holder = await Puppet.open(store.url);
    // What both start from is in the store itself; the grant is in the log alone.
    const database = new DatabaseSync(store.path);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    const { value: token } = await holder.acquire("x", { lease: "3s" });
    for (const ending of ["-wal", "-shm"]) rmSync(`${store.path}${ending}`);
    using contender = await Puppet.open(store.url);
    const taken = await contender.ask({ do: "try", name: "x", options: { lease: "30s" } });
    // Longer than the holder's lease: it has renewed or learnt of its loss by then.
    await new Promise((resume) => setTimeout(resume, 4_000));
    const { value: state } = await holder.ask({ do: "state", token: token as number });
    expect([state, taken.value === 0 ? "refused" : "granted"]).not.toEqual(["held", "granted"]);
    const after = await contender.ask({ do: "try", name: "x", options: {} });
    if (state === "held") expect(after.value).toBe(0);
  },
);
