import type { Duration } from "../core/duration.ts";
import type { FenceEntry } from "../core/fence/entry.ts";
import type { Actor, AuditEntry, AuditKind, Mode } from "../core/lock/record.ts";
import type { AuditLevel } from "../core/lock/scope.ts";
import type { Denial, LockState, LockStatus } from "../core/lock/views.ts";
import type { EpochMs } from "../core/scalars.ts";
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
}

export interface AcquireOptions extends Omit<TryOptions, "refused"> {
  /** How long to wait: 0 never queues; `Infinity` waits for the signal. Default 30 s. */
  readonly wait?: Duration | undefined;
  /** Ends the waiting; fired after the grant it changes nothing. */
  readonly signal?: AbortSignal | undefined;
}

export interface ClaimOptions {
  readonly lease?: Duration | undefined;
  readonly wait?: Duration | undefined;
  readonly note?: string | undefined;
  readonly lockDelay?: Duration | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface TryClaimOptions extends Omit<ClaimOptions, "wait"> {
  readonly refused?: ((denial: Denial) => void) | undefined;
}

export interface Claim {
  readonly token: number;
  readonly expiresAt: EpochMs;
  readonly leaseMs: number;
}

export interface ResumeOptions {
  /** Refuse, with null, while a resumed lease of the claim is live. Default false. */
  readonly ifUnresumed?: boolean | undefined;
  readonly renew?: "auto" | "manual" | undefined;
  readonly maxHold?: Duration | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type LeaseState = "held" | "unverified" | "lost" | "released";

/** A grant that its holder keeps; see docs/spec/locks.md section 4. */
export interface Lease extends AsyncDisposable {
  readonly namespace: string;
  readonly name: string;
  readonly mode: Mode;
  /** Place in the lock's history; send it along to fenced resources. */
  readonly token: number;
  /** The token as 16 digits, so that texts sort as the tokens do. */
  readonly fence: string;
  /** What `leasehold/fence` compares: each name with its mode and token. */
  readonly fences: readonly FenceEntry[];
  /** The credential of this lease. Keep it to yourself. */
  readonly leaseId: string;
  readonly owner: string;
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
  /** True when this call freed the lock; false when the lease was over before. */
  release(): Promise<boolean>;
  /** Everything but the lease id. */
  toJSON(): Record<string, unknown>;
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

/** What a space tells its listeners, by event name. */
export interface SpaceEvents {
  readonly acquired: { readonly name: string; readonly token: number; readonly waitedMs: number };
  readonly waiting: { readonly name: string; readonly denial: Denial; readonly waitedMs: number };
  readonly refused: { readonly name: string; readonly denial: Denial };
  readonly renewed: { readonly name: string; readonly token: number; readonly expiresAt: EpochMs };
  readonly lost: { readonly name: string; readonly token: number; readonly reason: LossReason };
  readonly released: { readonly name: string; readonly token: number };
  readonly reclaimed: { readonly name: string; readonly token: number; readonly owner: string };
  readonly withdrawn: { readonly name: string; readonly token: number; readonly owner: string };
  readonly ticketLost: { readonly name: string; readonly how: string };
  readonly stall: { readonly latenessMs: number };
  readonly unverified: { readonly name: string; readonly token: number; readonly gapMs: number };
  readonly clockStep: { readonly stepMs: number };
  readonly rewind: { readonly name: string; readonly token: number };
  readonly error: { readonly error: unknown; readonly while: string };
}

export type SpaceEventName = keyof SpaceEvents;

export interface CloseOptions {
  /** How long to wait for releases and clean-up; the rest ends by itself. Default 5 s. */
  readonly grace?: Duration | undefined;
  /** Leave the tickets in their queues, as long as the presence record lives. Default false. */
  readonly keepTickets?: boolean | undefined;
}

export interface SweepCounts {
  readonly locks: number;
  readonly presences: number;
  readonly audits: number;
}

/** An open connection of one process to one namespace: every operation on its locks. */
export interface Space extends AsyncDisposable {
  readonly namespace: string;
  readonly actor: Actor;
  readonly capabilities: Capabilities;
  acquire(name: string, options?: AcquireOptions): Promise<Lease>;
  tryAcquire(name: string, options?: TryOptions): Promise<Lease | null>;
  /** Runs `work` under a lease and releases it when the work has settled (L52). */
  using<Value>(
    name: string,
    options: AcquireOptions,
    work: (lease: Lease, signal: AbortSignal) => Promise<Value> | Value,
  ): Promise<Value>;
  claim(name: string, owner: string, options?: ClaimOptions): Promise<Claim>;
  tryClaim(name: string, owner: string, options?: TryClaimOptions): Promise<boolean>;
  resume(name: string, owner: string, options?: ResumeOptions): Promise<Lease | null>;
  releaseClaim(name: string, owner: string): Promise<boolean>;
  status(name: string, options?: { readonly signal?: AbortSignal }): Promise<LockStatus>;
  list(options?: ListOptions): Promise<ListPage>;
  why(name: string, options?: { readonly signal?: AbortSignal }): Promise<Explanation>;
  watch(
    what: string | { readonly prefix: string },
    options?: { readonly signal?: AbortSignal },
  ): AsyncIterable<LockEvent>;
  forceRelease(name: string, options: ForceOptions): Promise<ForceResult>;
  history(options?: HistoryOptions): AsyncIterable<HistoryEntry>;
  sweep(options?: {
    readonly budget?: number;
    readonly signal?: AbortSignal;
  }): Promise<SweepCounts>;
  raiseFloor(options: { readonly to: number; readonly reason: string }): Promise<number>;
  on<Event extends SpaceEventName>(
    event: Event,
    listener: (facts: SpaceEvents[Event]) => void,
  ): () => void;
  /** Releases everything, leaves every queue, and waits at most `grace` (L119). */
  close(options?: CloseOptions): Promise<void>;
}
