import type { LockStatus } from "../core/lock/views.ts";
import type { Lease } from "./lease-api.ts";
import type { BatchOptions, TryBatchOptions } from "./request-api.ts";
import type {
  Explanation,
  ForceOptions,
  ForceResult,
  HistoryEntry,
  HistoryOptions,
  LockEvent,
} from "./views-api.ts";

export interface PermitOptions extends BatchOptions {
  /** How many places to take, 1 to the limit. Default 1. */
  readonly permits?: number | undefined;
}

export interface TryPermitOptions extends TryBatchOptions {
  readonly permits?: number | undefined;
}

/**
 * Several places of one name, served in the order of requests, large ones included (L105). A
 * semaphore has nothing to do with the lock of the same name.
 */
export interface Semaphore {
  readonly name: string;
  readonly limit: number;
  /**
   * Takes places, waiting for them; `lease.slots` says which. Throws as `space.acquire` does, and
   * `LIMIT_MISMATCH` while the semaphore is in use with another limit (L106).
   */
  acquire(options?: PermitOptions): Promise<Lease>;
  tryAcquire(options?: TryPermitOptions): Promise<Lease | null>;
  using<Value>(
    options: PermitOptions,
    work: (lease: Lease, signal: AbortSignal) => Promise<Value> | Value,
  ): Promise<Value>;
  /** Sets the limit; shrinking takes no place away (L106). Gives the semaphore of that limit. */
  resize(limit: number, options: { readonly reason: string }): Promise<Semaphore>;
  status(options?: { readonly signal?: AbortSignal }): Promise<LockStatus>;
  why(options?: { readonly signal?: AbortSignal }): Promise<Explanation>;
  watch(options?: { readonly signal?: AbortSignal }): AsyncIterable<LockEvent>;
  history(options?: Omit<HistoryOptions, "name">): AsyncIterable<HistoryEntry>;
  forceRelease(options: ForceOptions): Promise<ForceResult>;
}
