export { createMemoryStore, openMemory } from "../engines/memory/index.ts";
export type { MemoryStore, MemoryStoreOptions } from "../engines/memory/index.ts";
export { FakeClock } from "../time/fake-clock.ts";
export type { ContractCase, ContractStore } from "./contract-world.ts";
export { engineContract } from "./engine-contract.ts";
