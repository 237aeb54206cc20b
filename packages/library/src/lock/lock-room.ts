import { lockKey } from "../core/lock/keys.ts";
import { decideLook, type LookResult, type TicketRef } from "../core/lock/look.ts";
import type { Outcome } from "../core/lock/outcome.ts";
import type { LockScope } from "../core/lock/scope.ts";
import type { EpochMs, MonotonicMs } from "../core/scalars.ts";
import type { QueuedTimer } from "../time/timer-queue.ts";
import type { Answered, EngineCalls } from "./engine-calls.ts";
import type { SpaceContext } from "./space-context.ts";
import type { Waiter } from "./waiter.ts";

/** Tickets that one look asks about; those further back cannot have been granted before these. */
const ticketsPerLook = 128;
/** Positions from which on a look is due less often (section 3). */
const nearPosition = 2;
/** A look at an expected end comes this much after it, and later the further back (section 8). */
const afterEndMs = 5;
const perRankMs = 20;
const perRankMsMax = 500;

/** What a room needs of the space's waiting room. */
export interface RoomHost {
  readonly context: SpaceContext;
  readonly calls: EngineCalls;
  move(waiter: Waiter, name: string): void;
}

/**
 * The waiters of one space on one lock: one look for all of them on a hint, at a known end, and
 * once a look period (L35, L36, L37). Looks are never concurrent; a hint during a look asks for
 * another.
 */
export class LockRoom {
  readonly #host: RoomHost;
  readonly #context: SpaceContext;
  readonly #calls: EngineCalls;
  readonly #scope: LockScope;
  readonly #name: string;
  readonly #waiters: Map<string, Waiter> = new Map();
  /** The highest ticket number that has entered. */
  #highest = -1;
  #timer: QueuedTimer | undefined;
  #timerAtMs: MonotonicMs = Infinity;
  #isLooking = false;
  #isLookDue = false;
  #isClosed = false;
  #failures = 0;

  constructor(host: RoomHost, scope: LockScope, name: string) {
    this.#host = host;
    this.#context = host.context;
    this.#calls = host.calls;
    this.#scope = scope;
    this.#name = name;
  }

  get size(): number {
    return this.#waiters.size;
  }

  enter(
    waiter: Waiter,
    news: { readonly expectedEnd: EpochMs | null; readonly now: EpochMs },
  ): void {
    this.#add(waiter);
    const position = waiter.facts.denial?.position ?? 0;
    this.#plan(news.expectedEnd, news.now, position);
  }

  /** Takes a waiter in without planning a look. */
  take(waiter: Waiter): void {
    this.#add(waiter);
  }

  leave(waiter: Waiter): void {
    this.#waiters.delete(waiter.id);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  lookNow(): void {
    if (this.#isClosed || this.#waiters.size === 0) return;
    if (this.#isLooking) {
      this.#isLookDue = true;
      return;
    }
    this.#isLooking = true;
    this.#isLookDue = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAtMs = Infinity;
    this.#look()
      .then(
        (answered) => this.#looked(answered),
        (error: unknown) => this.#failed(error),
      )
      .catch((error: unknown) => this.#context.events.fail(error, "looking"));
  }

  #look(): Promise<Answered<Outcome<LookResult>>> {
    const { clock, config } = this.#context;
    const scope = this.#scope;
    const tickets = this.#frontTickets();
    const command = { scope, name: this.#name, tickets };
    const deadlineMs = clock.monotonicMs() + config.callTimeoutMs;
    const keys = [lockKey(scope.namespace, this.#name, scope.part)];
    return this.#calls.once(keys, (snapshot) => decideLook(snapshot, command), { deadlineMs });
  }

  /** The own tickets with the lowest numbers. */
  #frontTickets(): readonly TicketRef[] {
    const tickets: TicketRef[] = [];
    for (const { ticket } of this.#waiters.values()) {
      if (ticket === null) continue;
      tickets.push(ticket);
      if (tickets.length >= ticketsPerLook) break;
    }
    return tickets;
  }

  /**
   * Keeps the waiters in the order of their tickets. They enter in it, but for those whose first
   * answer was lost, and those that come from another lock of their batch.
   */
  #add(waiter: Waiter): void {
    this.#waiters.set(waiter.id, waiter);
    const number = numberOf(waiter);
    if (number >= this.#highest) {
      this.#highest = number;
      return;
    }
    const all = [...this.#waiters].toSorted(
      ([, one], [, other]) => numberOf(one) - numberOf(other),
    );
    this.#waiters.clear();
    for (const [id, each] of all) this.#waiters.set(id, each);
  }

  #looked({ outcome, sentAtMs }: Answered<Outcome<LookResult>>): void {
    this.#isLooking = false;
    this.#failures = 0;
    for (const answer of outcome.result.answers) {
      this.#waiters.get(answer.id)?.answer(answer, sentAtMs);
    }
    for (const { id, name } of outcome.result.moved) {
      const waiter = this.#waiters.get(id);
      if (waiter !== undefined) this.#host.move(waiter, name);
    }
    if (this.#isClosed || this.#waiters.size === 0) return;
    const { denial, expectedEnd } = outcome.result;
    if (denial !== null) this.#tellWaiters(denial);
    // Behind tickets that were settled others may have been granted with them.
    const isFull = outcome.result.answers.length > 0 && this.#waiters.size >= ticketsPerLook / 2;
    if (this.#isLookDue || outcome.more || isFull) return this.lookNow();
    this.#plan(expectedEnd, outcome.now, denial?.position ?? 0);
  }

  #tellWaiters(denial: NonNullable<LookResult["denial"]>): void {
    let isFirst = true;
    for (const waiter of this.#waiters.values()) {
      const position = isFirst ? denial.position : (waiter.facts.denial?.position ?? null);
      waiter.observe({ ...denial, position });
      isFirst = false;
    }
  }

  #failed(error: unknown): void {
    this.#isLooking = false;
    this.#context.events.fail(error, `looking at ${JSON.stringify(this.#name)}`);
    if (this.#isClosed) return;
    const pauseMs = this.#calls.pauseMs(this.#failures);
    this.#failures += 1;
    this.#arm(this.#context.clock.monotonicMs() + pauseMs);
  }

  /** The next look: at the expected end, or after a look period, whichever comes first. */
  #plan(expectedEnd: EpochMs | null, now: EpochMs, position: number): void {
    const { clock, config } = this.#context;
    const nowMs = clock.monotonicMs();
    const periodMs = position < nearPosition ? config.lookMs : config.lookFarMs;
    let atMs = nowMs + periodMs;
    if (expectedEnd !== null) {
      const endMs = nowMs + Math.max(0, expectedEnd - now);
      atMs = Math.min(atMs, endMs + afterEndMs + Math.min(perRankMsMax, position * perRankMs));
    }
    if (atMs < this.#timerAtMs) this.#arm(atMs);
  }

  /** The timer keeps the process alive, because a call waits for it (L120). */
  #arm(atMs: MonotonicMs): void {
    if (this.#isClosed || this.#isLooking) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    const onTime = (): void => {
      this.#timerAtMs = Infinity;
      this.lookNow();
    };
    this.#timer = this.#context.timers.schedule(atMs, onTime, { referenced: true });
  }
}

function numberOf({ ticket }: Waiter): number {
  return ticket?.number ?? Infinity;
}
