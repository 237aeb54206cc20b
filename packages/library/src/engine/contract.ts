import type { Decide } from "../core/decision.ts";
import type { RecordKey } from "../core/key.ts";
import type { DurationMs, EpochMs, Json, MonotonicMs } from "../core/scalars.ts";

/** What an engine promises; the contract suite tests each declaration. */
export interface Capabilities {
  /** The engine's name as events and metrics carry it: `memory`, `sqlite`. */
  readonly engine: string;
  /** Clients on several hosts may share one store. */
  readonly spansHosts: boolean;
  /** Several processes may share one store. */
  readonly spansProcesses: boolean;
  /** What was acknowledged survives a crash of every process and of the host. */
  readonly durable: boolean;
  /** Acknowledged writes may be lost in a failover. */
  readonly mayLoseAcknowledged: boolean;
  /** Largest difference between the engine times of two clients, in ms. */
  readonly clockErrorMs: DurationMs;
  /** The store's own clock can be set, so engine time may step. */
  readonly clockMaySteps: boolean;
  /** Most records that one decision may read and write. */
  readonly keysPerCommitMax: number;
  /** Largest stored record in bytes of UTF-8. */
  readonly recordBytesMax: number;
  /** Whether watchers are told of commits, or must poll. */
  readonly hints: boolean;
}

export interface CallOptions {
  /** Fires when the caller gives up: a call that was not sent yet is never sent (L33), and one
   *  that was sent is not decided again. The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Monotonic instant at which the engine gives up with `EngineUnavailableError`. */
  readonly deadlineMs?: MonotonicMs | undefined;
}

export interface PageRequest {
  /** Most records of one page, 1 to 1000. */
  readonly limit: number;
  /** The stored key after which the page starts; absent for the first page. */
  readonly after?: string | undefined;
  /** Beginning of the first key part behind the prefix; absent or `""` for all. */
  readonly partial?: string | undefined;
}

export interface Page {
  readonly now: EpochMs;
  readonly records: readonly { readonly key: RecordKey; readonly value: Json }[];
  /** What to pass as `after` for the next page; absent on the last one. */
  readonly next?: string;
}

/**
 * News that a record may have changed. Hints may be lost, repeated or wrong; never decide on one.
 */
export interface KeyHint {
  /**
   * The key that was written or hinted; shorter than a record's key when only the area is known.
   */
  readonly key: RecordKey;
}

/**
 * Makes decisions atomic; knows nothing of locks.
 *
 * `transact` runs `decide` on the records of `keys`, and again with more where it answers `needs`
 * (at most {@link needsRoundsMax} rounds), commits its writes all or none, and resolves with its
 * outcome only after the commit is known. An outcome without writes is checked against the store
 * before it is given. What `decide` throws rejects the call after the same check. Rejects with
 * `EngineUnavailableError`: `outcome: "none"` when nothing was stored, `"unknown"` when the commit
 * was sent and no answer came; `isTransient` tells whether trying again may help.
 */
export interface Engine {
  readonly capabilities: Capabilities;
  transact<Outcome>(
    keys: readonly RecordKey[],
    decide: Decide<Outcome>,
    options: CallOptions,
  ): Promise<Outcome>;
  /** Lists records in the order of their stored keys; never decides. */
  scan(prefix: RecordKey, page: PageRequest, options: CallOptions): Promise<Page>;
  /**
   * Tells of commits on keys that begin with `prefix`, from the call on, until the signal fires or
   *  the engine closes. The first hint may tell of nothing; watching a closed engine throws.
   */
  watch(prefix: RecordKey, options: { readonly signal: AbortSignal }): AsyncIterable<KeyHint>;
  /** Idempotent; calls under way are settled first, later ones are refused with `SPACE_CLOSED`. */
  close(): Promise<void>;
}

/** Most rounds in which a decision may ask for further records. */
export const needsRoundsMax = 256;
/**
 * Most times one call is decided again because of conflicts, before it is given up as unavailable.
 */
export const conflictsMax = 1000;
