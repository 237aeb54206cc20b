import type { Duration } from "../core/duration.ts";
import type { Actor, AuditEntry, AuditKind, Mode } from "../core/lock/record.ts";
import type { AuditLevel } from "../core/lock/scope.ts";
import type { Denial, LockState, LockStatus } from "../core/lock/views.ts";
import type { EpochMs, Json } from "../core/scalars.ts";
import type { Capabilities } from "../engine/contract.ts";
import type { LossReason } from "../errors.ts";
import type { Clock, Entropy } from "../time/clock.ts";

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
  /** Most locks of one batch, owning locks included. Default 10 000, less where the engine says so. */
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

export interface TryOptions {
  /**
   * Lease length. Omitted, zero or negative: the space's default; longer than the maximum: capped.
   */
  readonly lease?: Duration | undefined;
  /** Default `"exclusive"`. */
  readonly mode?: Mode | undefined;
  /** Who asks, for people to read; 1 to 256 bytes. */
  readonly owner?: string | undefined;
  /** Shown with the holder; at most 1024 bytes. */
  readonly note?: string | undefined;
  /** `"auto"` (default) renews at a third of the lease; `"manual"` leaves it to the holder. */
  readonly renew?: "auto" | "manual" | undefined;
  /** Keeps others out for this long after a lapse or a forced end; 0 to 60 s. Default 0. */
  readonly lockDelay?: Duration | undefined;
  /** Stop renewing after this long; at least the lease length. Default: never. */
  readonly maxHold?: Duration | undefined;
  /** Ends the call only before it is sent. */
  readonly signal?: AbortSignal | undefined;
  /** Told why, when the answer is null. */
  readonly refused?: ((denial: Denial) => void) | undefined;
  /**
   * The owning locks of the name, nearest first, at most 64: they are held shared as long as the
   * name is held (L84). Default: what `ownersOf` of the space says.
   */
  readonly owners?: readonly string[] | undefined;
}

/** One lock of a batch. */
export interface LockRequestItem {
  readonly name: string;
  /** Default `"exclusive"`. */
  readonly mode?: Mode | undefined;
  /** The owning locks of the name, nearest first; default: what `ownersOf` of the space says. */
  readonly owners?: readonly string[] | undefined;
}

export type BatchOptions = Omit<AcquireOptions, "mode" | "owners">;
export type TryBatchOptions = Omit<TryOptions, "mode" | "owners">;

export interface AcquireOptions extends Omit<TryOptions, "refused"> {
  /** How long to wait: 0 never queues; `Infinity` waits for the signal. Default 30 s. */
  readonly wait?: Duration | undefined;
  /** Ends the waiting; fired after the grant it changes nothing. */
  readonly signal?: AbortSignal | undefined;
}

export interface ClaimOptions {
  /** How long the claim stands, and later the lease it is resumed into; capped at `claimMax`. */
  readonly lease?: Duration | undefined;
  /** How long to wait: 0 never queues; `Infinity` waits for the signal. Default 30 s. */
  readonly wait?: Duration | undefined;
  /** Shown with the holder; at most 1024 bytes. */
  readonly note?: string | undefined;
  /** Keeps others out for this long after a lapse or a forced end; 0 to 60 s. Default 0. */
  readonly lockDelay?: Duration | undefined;
  /** Ends the waiting; fired after the grant it changes nothing. */
  readonly signal?: AbortSignal | undefined;
}

export interface TryClaimOptions extends Omit<ClaimOptions, "wait"> {
  /** Told why, when the answer is false. */
  readonly refused?: ((denial: Denial) => void) | undefined;
}

/** A claim as it was granted; whoever knows its owner id may resume it. */
export interface Claim {
  /** Place in the lock's history. */
  readonly token: number;
  /** End in engine time unless it is resumed before. */
  readonly expiresAt: EpochMs;
  /** Effective length in ms. */
  readonly leaseMs: number;
}

export interface ResumeOptions {
  /** Refuse, with null, while a resumed lease of the claim is live. Default false. */
  readonly ifUnresumed?: boolean | undefined;
  /** `"auto"` (default) renews with the length of the claim; `"manual"` leaves it to the holder. */
  readonly renew?: "auto" | "manual" | undefined;
  /** Stop renewing after this long. Default: never. */
  readonly maxHold?: Duration | undefined;
  /** Ends the call only before it is sent. */
  readonly signal?: AbortSignal | undefined;
}

/** Lost and released are final; unverified lasts until the engine answers after a suspend. */
export type LeaseState = "held" | "unverified" | "lost" | "released";

export interface UpgradeOptions {
  /** Which of the lease's locks; default the first. */
  readonly name?: string | undefined;
  /** How long to wait: 0 asks once; `Infinity` waits for the signal. Default 30 s. */
  readonly wait?: Duration | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A lease on its way to another process. Whoever has it can take the lease up, once. */
export interface PortableLease {
  readonly namespace: string;
  /** All locks, owning locks included. */
  readonly names: readonly string[];
  readonly modes: readonly Mode[];
  readonly leaseId: string;
  readonly tokens: readonly number[];
  readonly leaseMs: number;
}

export interface AttachOptions {
  /** `"auto"` (default) renews with the length of the lease; `"manual"` leaves it to the holder. */
  readonly renew?: "auto" | "manual" | undefined;
  /** Stop renewing after this long. Default: never. */
  readonly maxHold?: Duration | undefined;
  /** Ends the call only before it is sent. */
  readonly signal?: AbortSignal | undefined;
}

/** A grant that its holder keeps; see docs/spec/locks.md section 4. */
export interface Lease extends AsyncDisposable {
  readonly namespace: string;
  /** The lock, or the first that was asked for of several. */
  readonly name: string;
  /** Every lock that was asked for, without its owning locks. */
  readonly names: readonly string[];
  readonly mode: Mode;
  /** Place in the lock's history; send it along to fenced resources. */
  readonly token: number;
  /** The token of one of its locks, owning locks included. */
  tokenOf(name: string): number;
  /** The token as 16 digits, so that texts sort as the tokens do. */
  readonly fence: string;
  /** The credential of this lease. Keep it to yourself. */
  readonly leaseId: string;
  readonly owner: string;
  /** The places of a semaphore that this lease fills; none of a lock. */
  readonly slots: readonly number[];
  /** Effective length, as the engine enforces it. */
  readonly leaseMs: number;
  /** End in engine time, as of the last renewal whose outcome is known. */
  readonly expiresAt: EpochMs;
  readonly grantedAt: EpochMs;
  readonly state: LeaseState;
  /** Aborts with `LeaseLostError` when the lease is lost. */
  readonly signal: AbortSignal;
  /** Milliseconds until the local deadline; 0 when lost or released. */
  remainingMs(): number;
  /** Throws `LEASE_LOST` or `LEASE_UNVERIFIED` unless the lease is held. No traffic. */
  assertHeld(): void;
  /** Sets the end to now + `lease`; the new length is kept. Throws `LEASE_LOST`. */
  renew(lease?: Duration): Promise<void>;
  /** Moves the end to now + `lease` unless it is later already. Throws `LEASE_LOST`. */
  extend(lease?: Duration): Promise<void>;
  /**
   * Makes the lease exclusive, on one of its locks, once the other shared holders have left (L74):
   * before every other request, with a new token. No-op when it is exclusive. Throws
   * `UPGRADE_CONFLICT`, `LOCK_WAIT_TIMEOUT`, `LOCK_ABORTED`, `LEASE_LOST`; the lease stays shared.
   */
  upgrade(options?: UpgradeOptions): Promise<void>;
  /** The same without waiting; false when it is not to be had now. */
  tryUpgrade(options?: { readonly name?: string | undefined }): Promise<boolean>;
  /** Makes the lease shared, with its token, and lets other shared requests in (L77). */
  downgrade(options?: { readonly name?: string | undefined }): Promise<void>;
  /**
   * Gives the lease away in a form that another process takes up by `attach` (L95). It is good for
   * `lease` from now; this handle is released, and nothing is freed. The form is a credential.
   */
  transfer(options?: { readonly lease?: Duration | undefined }): Promise<PortableLease>;
  /** True when this call freed the lock; false when the lease was over before. */
  release(): Promise<boolean>;
  /** Everything but the lease id. */
  toJSON(): Record<string, unknown>;
}

export type CampaignOptions = Omit<AcquireOptions, "mode" | "owners">;

/** Who leads, as others see it. */
export interface Leader {
  /** What the leader has proclaimed; null when nothing. */
  readonly value: Json;
  readonly owner: string;
  readonly token: number;
  readonly since: EpochMs;
}

/** A live leadership: a lease of the lock of the election's name (L102). */
export interface Leadership extends Lease {
  /** Changes the value that others see; JSON of at most 4 KiB. Throws `LEASE_LOST` (L104). */
  proclaim(value: Json): Promise<void>;
  /** Releases the leadership; true when this call freed it. */
  resign(): Promise<boolean>;
}

/** At most one leader of a name at a time (L102). */
export interface Election {
  readonly name: string;
  /** Waits to become the leader, without limit unless `wait` says so. */
  campaign(value?: Json, options?: CampaignOptions): Promise<Leadership>;
  /** The present leader, or null. Changes nothing. */
  leader(options?: { readonly signal?: AbortSignal }): Promise<Leader | null>;
  /** The present leader first, then changes; null while nobody leads; some may be skipped (L103). */
  observe(options?: { readonly signal?: AbortSignal }): AsyncIterable<Leader | null>;
}

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

export interface ListOptions {
  /** Beginning of the names; `""` for all. */
  readonly prefix?: string | undefined;
  readonly state?: LockState | undefined;
  /** Only locks that this owner id holds. */
  readonly owner?: string | undefined;
  /** Most locks of one page, 1 to 1000. Default 100. */
  readonly limit?: number | undefined;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ListPage {
  readonly locks: readonly LockStatus[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** Why a lock cannot be had now, and when at the earliest it can. */
export interface Explanation {
  readonly name: string;
  readonly status: LockStatus;
  /** What keeps a new exclusive request out, in plain sentences; empty when it would be granted. */
  readonly because: readonly string[];
  /** Earliest instant at which the holders seen now are all out; null when nobody holds it. */
  readonly earliestAt: EpochMs | null;
}

export interface ForceOptions {
  /** Kept in the history and told to the holder; 1 to 1024 bytes. */
  readonly reason: string;
  /** Only the grant with this token. Default: every grant. */
  readonly token?: number | undefined;
  /** Let the next one in at once, whatever lock-delay was set. Default false. */
  readonly noDelay?: boolean | undefined;
}

export interface ForceResult {
  readonly ended: readonly { readonly token: number; readonly owner: string }[];
}

export interface HistoryOptions {
  readonly name?: string | undefined;
  /** Only entries from this engine time on. */
  readonly since?: EpochMs | undefined;
  readonly kinds?: readonly AuditKind[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface HistoryEntry extends AuditEntry {
  readonly at: EpochMs;
  readonly name: string;
}

/** A state of a lock that a watcher is told of; states may be skipped, never reordered (L109). */
export interface LockEvent {
  readonly name: string;
  readonly type: LockState;
  readonly token: number;
  /** How many tokens were minted since the last event beside this one. */
  readonly skipped: number;
  readonly holders: LockStatus["holders"];
  readonly depth: number;
  readonly now: EpochMs;
}

/** What a space tells its listeners, by event name. Times are in ms. */
export interface SpaceEvents {
  /** A lease or claim was granted to a call of this space. */
  readonly acquired: { readonly name: string; readonly token: number; readonly waitedMs: number };
  /** A call goes on waiting; told every 10 s, with what keeps it out. */
  readonly waiting: { readonly name: string; readonly denial: Denial; readonly waitedMs: number };
  /** A call that does not wait was refused. */
  readonly refused: { readonly name: string; readonly denial: Denial };
  /** A lease was renewed; `expiresAt` is its new end in engine time. */
  readonly renewed: { readonly name: string; readonly token: number; readonly expiresAt: EpochMs };
  /** A lease of this space is over without having been released. */
  readonly lost: { readonly name: string; readonly token: number; readonly reason: LossReason };
  /** A lease of this space was released. */
  readonly released: { readonly name: string; readonly token: number };
  /** A commit of this space took a lapsed grant of anybody out of the record. */
  readonly reclaimed: { readonly name: string; readonly token: number; readonly owner: string };
  /** A commit of this space took back a grant that its waiter had not confirmed in time. */
  readonly withdrawn: { readonly name: string; readonly token: number; readonly owner: string };
  /** A waiting call has lost its place and begins anew at the tail (L25). */
  readonly ticketLost: { readonly name: string; readonly how: string };
  /** A timer fired so much too late that leases may be in danger. */
  readonly stall: { readonly latenessMs: number };
  /** The host seems to have slept: the lease is vouched for again after an engine answer (L60). */
  readonly unverified: { readonly name: string; readonly token: number; readonly gapMs: number };
  /** The store's own clock was set, by this much (L58). */
  readonly clockStep: { readonly stepMs: number };
  /** The store has forgotten a token that it had given out; it was raised again (L64). */
  readonly rewind: { readonly name: string; readonly token: number };
  /** Something failed that no call could be told of. */
  readonly error: { readonly error: unknown; readonly while: string };
}

export type SpaceEventName = keyof SpaceEvents;

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
