import type { Decide, Decided } from "../../core/decision.ts";
import { decodeKey, encodeKey } from "../../core/key.ts";
import type { RecordKey } from "../../core/key.ts";
import type { Json } from "../../core/scalars.ts";
import { conflictsMax } from "../../engine/contract.ts";
import type {
  CallOptions,
  Capabilities,
  Engine,
  KeyHint,
  Page,
  PageRequest,
} from "../../engine/contract.ts";
import {
  assertDistinct,
  assertKeyCount,
  DecisionSnapshot,
  decideWidening,
  placeOfWrite,
} from "../../engine/decision-snapshot.ts";
import { HintBoard } from "../../engine/hint-board.ts";
import { keyRange } from "../../engine/key-range.ts";
import { EngineUnavailableError, SpaceClosedError } from "../../errors.ts";
import type { MemoryStore } from "./memory-store.ts";

export const capabilities: Capabilities = Object.freeze({
  engine: "memory",
  spansHosts: false,
  spansProcesses: false,
  durable: false,
  mayLoseAcknowledged: false,
  clockErrorMs: 0,
  clockMaySteps: false,
  keysPerCommitMax: 100_000,
  recordBytesMax: 2 ** 30,
  hints: true,
});

/** Opens an engine on a store of this process; closing it leaves the store as it is. */
export function openMemory(store: MemoryStore): Engine {
  return new MemoryEngine(store);
}

/**
 * Decides and commits in one go within the call: nothing can come in between, so there is no
 * conflict, no unknown outcome and nothing that waits.
 */
class MemoryEngine implements Engine {
  readonly capabilities: Capabilities = capabilities;
  readonly #store: MemoryStore;
  readonly #board = new HintBoard();
  #isClosed = false;

  constructor(store: MemoryStore) {
    this.#store = store;
    store.boards.add(this.#board);
  }

  async transact<Outcome>(
    keys: readonly RecordKey[],
    decide: Decide<Outcome>,
    options: CallOptions,
  ): Promise<Outcome> {
    this.#assertAccepts(options);
    const snapshot = new DecisionSnapshot();
    const count = snapshot.add(keys);
    assertKeyCount(count, capabilities);
    for (let attempt = 0; attempt < conflictsMax; attempt += 1) {
      snapshot.shrinkTo(count);
      snapshot.load(this.#store, 0);
      snapshot.now = this.#store.now();
      const decided = decideWidening(snapshot, decide, this.#store, capabilities);
      if (this.#store.now() >= (decided.validUntil ?? Infinity)) continue;
      this.#commit(snapshot, decided);
      return decided.outcome;
    }
    throw unavailable(`${conflictsMax} decisions were over before they were made`);
  }

  async scan(prefix: RecordKey, page: PageRequest, options: CallOptions): Promise<Page> {
    const range = keyRange(prefix, page);
    this.#assertAccepts(options);
    const now = this.#store.now();
    const rows = [...this.#store.rows({ ...range, limit: range.limit + 1 })];
    const shown = rows.slice(0, range.limit);
    const records = shown.map(({ key, entry }) => ({
      key: decodeKey(key),
      value: entry.value as Json,
    }));
    const next = rows.length > range.limit ? shown.at(-1)?.key : undefined;
    return next === undefined ? { now, records } : { now, records, next };
  }

  watch(prefix: RecordKey, options: { readonly signal: AbortSignal }): AsyncIterable<KeyHint> {
    if (this.#isClosed) throw new SpaceClosedError();
    return this.#board.watch(prefix, options.signal);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#store.boards.delete(this.#board);
    this.#board.close();
  }

  #assertAccepts({ signal, deadlineMs }: CallOptions): void {
    if (this.#isClosed) throw new SpaceClosedError();
    signal?.throwIfAborted();
    if (deadlineMs !== undefined && deadlineMs <= this.#store.clock.monotonicMs()) {
      throw unavailable("the deadline of the call has passed");
    }
  }

  #commit(snapshot: DecisionSnapshot, decided: Decided<unknown>): void {
    const { writes, hints } = decided;
    const storedKeys = writes.map(({ key }) => snapshot.storedKeys[placeOfWrite(snapshot, key)]);
    assertDistinct(storedKeys as string[]);
    const revision = this.#store.nextRevision();
    for (let i = 0; i < writes.length; i += 1) {
      const value = writes[i]?.value ?? undefined;
      const storedKey = storedKeys[i] as string;
      if (value === undefined) this.#store.delete(storedKey);
      else this.#store.put(storedKey, { value, revision, size: 0 });
    }
    if (!this.#store.isWatched) return;
    for (const storedKey of storedKeys) this.#store.publish(storedKey as string);
    for (const hint of hints ?? []) this.#store.publish(encodeKey(hint));
  }
}

function unavailable(what: string): EngineUnavailableError {
  return new EngineUnavailableError("memory", what, { outcome: "none", isTransient: true });
}
