import type {
  Explanation,
  ForceOptions,
  ForceResult,
  HistoryOptions,
  HistoryEntry,
  ListOptions,
  ListPage,
  LockEvent,
} from "./views-api.ts";
import type { Duration } from "../core/duration.ts";
import type { Actor } from "../core/lock/record.ts";
import type { AuditLevel } from "../core/lock/scope.ts";
import type { LockStatus } from "../core/lock/views.ts";
import type { Capabilities } from "../engine/contract.ts";
import type { Clock, Entropy } from "../time/clock.ts";
import type { Election } from "./election-api.ts";
import type { SpaceEventName, SpaceEvents } from "./events-api.ts";
import type { Lease, PortableLease } from "./lease-api.ts";
import type {
  AcquireOptions,
  AttachOptions,
  BatchOptions,
  Claim,
  ClaimOptions,
  LockRequestItem,
  ResumeOptions,
  TryClaimOptions,
  TryOptions,
  TryBatchOptions,
} from "./request-api.ts";
import type { Semaphore } from "./semaphore-api.ts";

/** How a space is opened. Every duration is in milliseconds or text such as `"30s"`. */
export interface SpaceOptions {
  /** Locks of different namespaces have nothing to do with each other. Default `"default"`. */
  readonly namespace?: string | undefined;
  /** Name of the application, shown to people as part of the actor. Default: none. */
  readonly app?: string | undefined;
  /** Owner id of leases that name none. Default `host/pid/presence`, shortened. */
  readonly owner?: string | undefined;
  /** Refuse every writing operation with `READ_ONLY`. Default false. */
  readonly readOnly?: boolean | undefined;
  /** Lease length where a call names none; 100 ms to `leaseMax`. Default 30 s. */
  readonly lease?: Duration | undefined;
  /** Longest lease that is granted; longer wishes are capped. Default 5 min. */
  readonly leaseMax?: Duration | undefined;
  /** Longest claim that is granted. Default 24 h. */
  readonly claimMax?: Duration | undefined;
  /** Bound of a call that does not wait; 100 ms to 5 min. Default 5 s. */
  readonly callTimeout?: Duration | undefined;
  /** Time in which a waiter must take a grant made for it elsewhere; 1 s to 60 s. Default 5 s. */
  readonly confirmWindow?: Duration | undefined;
  /** How long tickets outlive their process; 3 s to 5 min. Default 15 s. */
  readonly presenceLease?: Duration | undefined;
  /**
   * Look at a lock at least this often while waiting; 100 ms to 30 s. Default 1 s, 3 s further
   * back.
   */
  readonly lookPeriod?: Duration | undefined;
  /** Most tickets of one lock; 1 to 10 000. Default 10 000, less where the engine says so. */
  readonly queueLimit?: number | undefined;
  /** Most grants of one lock; 1 to 1000. Default 1000, less where the engine says so. */
  readonly holderLimit?: number | undefined;
  /** Most locks of one batch, with owning locks. Default 10 000, less where the engine says so. */
  readonly batchLimit?: number | undefined;
  /** The owning locks of a name, nearest first, for requests that give none (L84). */
  readonly ownersOf?: ((name: string) => readonly string[]) | undefined;
  /** Which changes the history records. Default `"exceptions"`. */
  readonly audit?: AuditLevel | undefined;
  /**
   * How often idle records are swept, by one process at a time; 1 s to 1 h, or false. Default 5
   * min.
   */
  readonly sweep?: Duration | false | undefined;
  /** How long free records are kept before the sweep deletes them; 1 s on. Default 10 min. */
  readonly retention?: Duration | undefined;
  /** Source of time. Default: the system's. For tests. */
  readonly clock?: Clock | undefined;
  /** Source of chance. Default: the system's. For tests. */
  readonly entropy?: Entropy | undefined;
}

export interface CloseOptions {
  /** How long to wait for releases and clean-up; the rest ends by itself. Default 5 s. */
  readonly grace?: Duration | undefined;
  /** Leave the tickets in their queues, as long as the presence record lives. Default false. */
  readonly keepTickets?: boolean | undefined;
}

/** How many records a sweep has deleted. */
export interface SweepCounts {
  readonly locks: number;
  readonly presences: number;
  readonly batches: number;
  readonly audits: number;
}

/** An open connection of one process to one namespace: every operation on its locks. */
export interface Space extends AsyncDisposable {
  readonly namespace: string;
  /** Who acts through this space, as others see it: host, process id, application. */
  readonly actor: Actor;
  /** What the engine promises. */
  readonly capabilities: Capabilities;
  /**
   * Takes the lock, waiting for its turn (L8, L17, L18). Throws `LOCK_WAIT_TIMEOUT` with the
   * denial, `LOCK_ABORTED`, `QUEUE_FULL`, `TOKEN_OVERFLOW`, `ENGINE_UNAVAILABLE`.
   */
  acquire(name: string, options?: AcquireOptions): Promise<Lease>;
  /** Takes the lock if that passes nobody; null, never an error, when it is not to be had (L10). */
  tryAcquire(name: string, options?: TryOptions): Promise<Lease | null>;
  /**
   * Takes several locks at once, all or none, in one lease (L78, L79). The order of the requests
   * has no effect, and a name that is repeated counts once (L80). Throws as `acquire` does, and
   * `BATCH_TOO_LARGE`.
   */
  acquireAll(
    requests: readonly (string | LockRequestItem)[],
    options?: BatchOptions,
  ): Promise<Lease>;
  /** The same without waiting; null when not all can be had now. */
  tryAcquireAll(
    requests: readonly (string | LockRequestItem)[],
    options?: TryBatchOptions,
  ): Promise<Lease | null>;
  /** Runs `work` under a lease of several locks. */
  usingAll<Value>(
    requests: readonly (string | LockRequestItem)[],
    options: BatchOptions,
    work: (lease: Lease, signal: AbortSignal) => Promise<Value> | Value,
  ): Promise<Value>;
  /** Runs `work` under a lease and releases it when the work has settled (L52). */
  using<Value>(
    name: string,
    options: AcquireOptions,
    work: (lease: Lease, signal: AbortSignal) => Promise<Value> | Value,
  ): Promise<Value>;
  /** The semaphore of a name, with the limit that all of its users agree on (L105). */
  semaphore(name: string, options: { readonly limit: number }): Semaphore;
  /** The election of a leader of a name (L102). */
  election(name: string): Election;
  /** Takes the lock for an owner id, in no process's keeping, until it is resumed or over (L88). */
  claim(name: string, owner: string, options?: ClaimOptions): Promise<Claim>;
  /** The same without waiting; false when the lock is not to be had. */
  tryClaim(name: string, owner: string, options?: TryClaimOptions): Promise<boolean>;
  /** Turns the claim of an owner id into a lease; null when there is none to resume (L89, L90). */
  resume(name: string, owner: string, options?: ResumeOptions): Promise<Lease | null>;
  /** Takes up a lease that was given away, once; null when it is over or was taken up (L95). */
  attach(portable: PortableLease, options?: AttachOptions): Promise<Lease | null>;
  /** Frees a claim that nobody has resumed; false when there is none (L94). */
  releaseClaim(name: string, owner: string): Promise<boolean>;
  /** What the lock looked like a moment ago. Changes nothing, like all that follows (L107). */
  status(name: string, options?: { readonly signal?: AbortSignal }): Promise<LockStatus>;
  /** One page of the locks that the store remembers (L108). */
  list(options?: ListOptions): Promise<ListPage>;
  /** What keeps a new exclusive request out, in plain sentences, and until when. */
  why(name: string, options?: { readonly signal?: AbortSignal }): Promise<Explanation>;
  /** The present state first, then changes in token order; some may be skipped (L109). */
  watch(
    what: string | { readonly prefix: string },
    options?: { readonly signal?: AbortSignal },
  ): AsyncIterable<LockEvent>;
  /** Ends grants by an administrator's word, and lets the next one in (L110, L111). */
  forceRelease(name: string, options: ForceOptions): Promise<ForceResult>;
  /** What became of grants, by name and token, as far as `audit` records it (L112). */
  history(options?: HistoryOptions): AsyncIterable<HistoryEntry>;
  /** Deletes what nobody needs any more, at most `budget` records (L123). */
  sweep(options?: {
    readonly budget?: number;
    readonly signal?: AbortSignal;
  }): Promise<SweepCounts>;
  /** Lifts every token of the namespace above `to`: the step after restoring a backup (L65). */
  raiseFloor(options: { readonly to: number; readonly reason: string }): Promise<number>;
  /** Listens to an event; what is returned ends the listening. */
  on<Event extends SpaceEventName>(
    event: Event,
    listener: (facts: SpaceEvents[Event]) => void,
  ): () => void;
  /** Releases everything, leaves every queue, and waits at most `grace` (L119). */
  close(options?: CloseOptions): Promise<void>;
}
