export { capabilities as memoryCapabilities, openMemory } from "./memory-engine.ts";
export { createMemoryStore } from "./memory-store.ts";
export type { MemoryStore, MemoryStoreOptions } from "./memory-store.ts";
