import { join } from "node:path";

import { describe, test } from "vitest";

import { createMemoryStore, openMemory } from "../../src/engines/memory/index.ts";
import { openSqlite } from "../../src/engines/sqlite/index.ts";
import { engineContract } from "../../src/testing/index.ts";
import type { ContractStore } from "../../src/testing/index.ts";
import { systemClock } from "../../src/time/system-clock.ts";
import { scratchFolder } from "./scratch-folder.ts";

async function setupMemory(): Promise<ContractStore> {
  const store = createMemoryStore({ clock: systemClock });
  const [first, second] = [openMemory(store), openMemory(store)];
  return {
    first,
    second,
    close: async () => {
      await Promise.all([first.close(), second.close()]);
    },
  };
}

async function setupSqlite(thread: "worker" | "caller"): Promise<ContractStore> {
  const folder = scratchFolder();
  const path = join(folder.path, "store.db");
  const first = await openSqlite(path, { thread });
  const second = await openSqlite(path, { thread });
  return {
    first,
    second,
    close: async () => {
      await Promise.all([first.close(), second.close()]);
      folder.remove();
    },
  };
}

const setups = {
  memory: setupMemory,
  "sqlite in a worker": () => setupSqlite("worker"),
  "sqlite on the caller's thread": () => setupSqlite("caller"),
};

for (const [name, setup] of Object.entries(setups)) {
  describe(`the engine contract, ${name}`, () => {
    for (const { title, run } of engineContract(setup)) test(title, run);
  });
}
