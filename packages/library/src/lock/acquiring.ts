import { decideAcquire, type AcquireResult } from "../core/lock/acquire.ts";
import type { Denial } from "../core/lock/views.ts";
import type { MonotonicMs } from "../core/scalars.ts";
import {
  EngineUnavailableError,
  LimitMismatchError,
  LockAbortedError,
  LockWaitTimeoutError,
  SpaceClosedError,
} from "../errors.ts";
import type { EventHub } from "./events.ts";
import { handLease } from "./hand-lease.ts";
import { LeaseHandle } from "./lease-handle.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import type { LockRequest } from "./request.ts";
import type { Claim } from "./request-api.ts";
import type { Lease } from "./lease-api.ts";
import { isOverdue, LockWish } from "./lock-wish.ts";
import { Waiter, type Granted } from "./waiter.ts";
import type { WaitingRoom } from "./waiting-room.ts";

/** The acquiring calls of a space: with and without waiting, for leases and for claims. */
export class Acquiring {
  readonly #room: WaitingRoom;
  readonly #keeper: LeaseKeeper;
  readonly #defaultOwner: string;

  constructor(room: WaitingRoom, keeper: LeaseKeeper) {
    this.#room = room;
    this.#keeper = keeper;
    const { config, scope } = room.context;
    const { actor, presence } = scope;
    this.#defaultOwner =
      config.owner ?? `${actor.host}/${actor.pid}/${presence.slice(0, 6)}`.slice(-256);
  }

  async acquireLease(request: LockRequest): Promise<LeaseHandle> {
    return this.#leaseOf(await this.acquireGrant(request), request);
  }

  /** The grant of a call that waits, for leases of a kind of their own. */
  async acquireGrant(request: LockRequest): Promise<Granted> {
    return this.#acquire(request, request.owner);
  }

  async tryLease(request: LockRequest): Promise<Lease | null> {
    const granted = await this.#try(request, request.owner);
    return isDenial(granted) ? this.#refuse(request, granted) : this.#leaseOf(granted, request);
  }

  async claim(request: LockRequest, owner: string): Promise<Claim> {
    const { grant } = await this.#acquire(request, owner);
    const { token, expiresAt, leaseMs } = grant;
    return { token, expiresAt, leaseMs };
  }

  async tryClaim(request: LockRequest, owner: string): Promise<boolean> {
    const granted = await this.#try(request, owner);
    if (!isDenial(granted)) return true;
    this.#refuse(request, granted);
    return false;
  }

  async #acquire(request: LockRequest, owner: string | null): Promise<Granted> {
    assertNotAborted(request);
    if (request.waitMs === 0) {
      const startMs = this.#room.context.clock.monotonicMs();
      const granted = await this.#try(request, owner);
      if (!isDenial(granted)) return granted;
      this.#room.context.events.emit("refused", { name: request.name, denial: granted });
      throw new LockWaitTimeoutError(granted, this.#waitedMs(startMs));
    }
    const wish = this.#wish(request, owner);
    const granted = await new Waiter(this.#room, wish, request).promise;
    this.#tellAcquired(request, granted);
    return granted;
  }

  /** A closing space waits for the call, and takes back what it was granted meanwhile (L119). */
  #try(request: LockRequest, owner: string | null): Promise<Granted | Denial> {
    return this.#room.background.hold(this.#tryNow(request, owner));
  }

  /**
   * Decides without queueing. An attempt of unknown outcome that ends without a lease is cancelled.
   */
  async #tryNow(request: LockRequest, owner: string | null): Promise<Granted | Denial> {
    assertNotAborted(request);
    const { context, calls } = this.#room;
    const startMs = context.clock.monotonicMs();
    const deadlineMs = calls.deadlineMs();
    const wish = this.#wish(request, owner);
    // Bounded by the deadline: each turn ends dead tickets, or begins a new attempt.
    for (;;) {
      const id = context.entropy.id();
      const command = wish.command({ id, isRepeat: false, waitMs: 0 });
      let mayBeStored = false;
      try {
        // oxlint-disable-next-line no-await-in-loop -- each turn depends on the one before
        const { outcome, sentAtMs, wasUnknown } = await calls.untilAnswered(
          wish.keys,
          (snapshot, isRepeat) => {
            mayBeStored ||= isRepeat;
            return decideAcquire(snapshot, { ...command, isRepeat });
          },
          { deadlineMs },
        );
        if (context.lifetime.isClosed && outcome.result.kind === "granted") {
          mayBeStored = true;
          throw new SpaceClosedError();
        }
        const verdict = this.#judge(request, outcome.result, sentAtMs, startMs);
        // A lease that was over before it could be told is given back, and asked for anew (L49).
        const isUseless = verdict === undefined || isDenial(verdict);
        const isGivenBack = verdict === undefined && outcome.result.kind === "granted";
        if (isGivenBack || (wasUnknown && isUseless)) wish.cancel({ id, number: null });
        if (verdict !== undefined && isDenial(verdict)) return verdict;
        if (verdict !== undefined) {
          this.#tellAcquired(request, verdict);
          return verdict;
        }
      } catch (error) {
        const isUnknown = error instanceof EngineUnavailableError && error.outcome === "unknown";
        if (mayBeStored || isUnknown) wish.cancel({ id, number: null });
        throw error;
      }
    }
  }

  /** The verdict of one decision; undefined when it must be made anew. */
  #judge(
    request: LockRequest,
    result: AcquireResult,
    sentAtMs: MonotonicMs,
    startMs: MonotonicMs,
  ): Granted | Denial | undefined {
    if (result.kind === "granted") {
      if (isOverdue(this.#room.context, result.grant, sentAtMs)) return undefined;
      return { grant: result.grant, sentAtMs, waitedMs: this.#waitedMs(startMs) };
    }
    if (result.kind === "mismatch") {
      throw new LimitMismatchError(request.name, result.recorded, request.limit);
    }
    return result.kind === "refused" ? result.denial : undefined;
  }

  #wish(request: LockRequest, owner: string | null): LockWish {
    return new LockWish(this.#room, request, owner ?? this.#defaultOwner);
  }

  #refuse(request: LockRequest, denial: Denial): null {
    this.#room.context.events.emit("refused", { name: request.name, denial });
    tellRefusal(this.#room.context.events, request, denial);
    return null;
  }

  #leaseOf(granted: Granted, request: LockRequest): Promise<LeaseHandle> {
    return handLease(this.#keeper, granted, request, LeaseHandle);
  }

  #tellAcquired({ name }: LockRequest, { grant, waitedMs }: Granted): void {
    const { events } = this.#room.context;
    if (events.has("acquired")) events.emit("acquired", { name, token: grant.token, waitedMs });
  }

  #waitedMs(startMs: MonotonicMs): number {
    return Math.ceil(this.#room.context.clock.monotonicMs() - startMs);
  }
}

/** What the caller's function throws, or rejects with, changes no answer (L50). */
function tellRefusal(events: EventHub, { refused }: LockRequest, denial: Denial): void {
  if (refused === undefined) return;
  const during = "telling of a refusal";
  try {
    const returned: unknown = refused(denial);
    if (returned instanceof Promise) {
      returned.catch((error: unknown) => events.fail(error, during));
    }
  } catch (error) {
    events.fail(error, during);
  }
}

function assertNotAborted({ name, signal }: LockRequest): void {
  if (signal?.aborted === true) throw new LockAbortedError(name, signal.reason);
}

function isDenial(value: Granted | Denial): value is Denial {
  return "holders" in value;
}
