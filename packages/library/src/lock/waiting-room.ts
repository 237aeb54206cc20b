import type { GrantFacts } from "../core/lock/facts.ts";
import { presenceKey } from "../core/lock/keys.ts";
import type { EpochMs, MonotonicMs } from "../core/scalars.ts";
import type { Background } from "./background.ts";
import type { EngineCalls } from "./engine-calls.ts";
import { LockRoom } from "./lock-room.ts";
import { PresenceKeeper } from "./presence-keeper.ts";
import type { SpaceContext } from "./space-context.ts";
import type { Waiter, WaiterHost } from "./waiter.ts";

/**
 * All waiting calls of one space, by attempt id and by lock.
 *
 * It keeps the presence alive while tickets wait, listens for hints addressed to it, and lets each
 * lock be looked at once for all of its waiters (L37). Holders are not in here: they watch nothing.
 */
export class WaitingRoom implements WaiterHost {
  readonly context: SpaceContext;
  readonly calls: EngineCalls;
  readonly background: Background;
  readonly #attempts: Map<string, Waiter> = new Map();
  readonly #rooms: Map<string, LockRoom> = new Map();
  readonly #presence: PresenceKeeper;
  readonly #watching = new AbortController();
  #isWatching = false;

  constructor(context: SpaceContext, calls: EngineCalls, background: Background) {
    this.context = context;
    this.calls = calls;
    this.background = background;
    this.#presence = new PresenceKeeper(context, calls);
  }

  /** Number of calls that have not settled. */
  get size(): number {
    return this.#attempts.size;
  }

  add(waiter: Waiter): void {
    this.#attempts.set(waiter.id, waiter);
  }

  enter(
    waiter: Waiter,
    news: { readonly expectedEnd: EpochMs | null; readonly now: EpochMs },
  ): void {
    this.#roomOf(waiter).enter(waiter, news);
    this.#presence.start();
    this.#watch();
  }

  leave(waiter: Waiter): void {
    this.#attempts.delete(waiter.id);
    this.#leaveRoom(waiter);
    if (this.#rooms.size === 0) this.#presence.stop();
  }

  /** Another lock holds the ticket of a batch back: it is looked at there from now on (L132). */
  move(waiter: Waiter, name: string): void {
    this.#leaveRoom(waiter);
    waiter.lockName = name;
    const room = this.#roomOf(waiter);
    room.take(waiter);
    room.lookNow();
  }

  #roomOf(waiter: Waiter): LockRoom {
    const address = addressOf(waiter);
    const open = this.#rooms.get(address);
    if (open !== undefined) return open;
    const room = new LockRoom(this, waiter.wish.scope, waiter.lockName);
    this.#rooms.set(address, room);
    return room;
  }

  #leaveRoom(waiter: Waiter): void {
    const address = addressOf(waiter);
    const room = this.#rooms.get(address);
    if (room === undefined) return;
    room.leave(waiter);
    if (room.size > 0) return;
    room.close();
    this.#rooms.delete(address);
  }

  /**
   * A commit of this space has granted a ticket of this space; held at once (L22).
   *
   * An attempt that is not known here has settled: by this grant, when a look was answered before
   * this commit was, or by giving up, and then its cancel is on its way and ends the grant (6.6).
   */
  receive(grant: GrantFacts, sentAtMs: MonotonicMs): void {
    this.#attempts.get(grant.id)?.answer({ id: grant.id, kind: "granted", grant }, sentAtMs);
  }

  /** Rejects every waiting call and leaves the queues, unless the tickets are to stay (L119). */
  close(isTicketKept: boolean): void {
    for (const waiter of this.#attempts.values()) waiter.close(isTicketKept);
    for (const room of this.#rooms.values()) room.close();
    this.#rooms.clear();
    this.#presence.stop();
    this.#watching.abort();
  }

  /** Whether the presence record of this space may be stored. */
  get hasPresence(): boolean {
    return this.#presence.wasStarted;
  }

  #watch(): void {
    if (this.#isWatching || this.#watching.signal.aborted) return;
    this.#isWatching = true;
    this.#listen()
      .catch((error: unknown) => this.context.events.fail(error, "listening for hints"))
      .finally(() => {
        // Polling goes on by itself; the next waiter listens again.
        this.#isWatching = false;
      });
    // What was granted before the watch began has no hint to come (L35).
    for (const room of this.#rooms.values()) room.lookNow();
  }

  async #listen(): Promise<void> {
    const { engine, scope } = this.context;
    const key = presenceKey(scope.namespace, scope.presence);
    const hints = engine.watch(key, { signal: this.#watching.signal });
    for await (const hint of hints) {
      if (hint.key.length > key.length) continue;
      for (const room of this.#rooms.values()) room.lookNow();
    }
  }
}

/** A semaphore of a name is another lock than the lock of that name. */
function addressOf({ wish, lockName }: Waiter): string {
  return `${wish.scope.part ?? "lock"}/${lockName}`;
}
