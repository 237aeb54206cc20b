import type { QueuedResult } from "../core/lock/acquire.ts";
import type { GrantFacts } from "../core/lock/facts.ts";
import { decideGiveUp, type TicketAnswer, type TicketRef } from "../core/lock/look.ts";
import { decideAdvance } from "../core/lock/sweep.ts";
import type { Denial } from "../core/lock/views.ts";
import type { DurationMs, EpochMs, MonotonicMs } from "../core/scalars.ts";
import {
  EngineUnavailableError,
  LimitMismatchError,
  LockAbortedError,
  LockWaitTimeoutError,
  QueueFullError,
  SpaceClosedError,
} from "../errors.ts";
import type { QueuedTimer } from "../time/timer-queue.ts";
import {
  newAttempt,
  noAnswer,
  onAsked,
  onFailed,
  onGivenUp,
  onLeft,
  onTicketAnswer,
  onWaitOver,
  type AttemptAction,
  type AttemptFacts,
  type AttemptStep,
} from "./attempt-state.ts";
import type { Background } from "./background.ts";
import { withOutcome, type EngineCalls } from "./engine-calls.ts";
import type { SpaceContext } from "./space-context.ts";
import type { Attempted, Wish } from "./wish.ts";

/** What a waiter has to know of its ticket. */
interface Queued {
  readonly also?: QueuedResult["also"];
  readonly denial: Denial;
  readonly expectedEnd: EpochMs | null;
}

/** A grant as the waiter got it. */
export interface Granted {
  readonly grant: GrantFacts;
  readonly sentAtMs: MonotonicMs;
  readonly waitedMs: number;
}

/** Where a waiter stands while it is queued. */
export interface WaiterHost {
  readonly context: SpaceContext;
  readonly calls: EngineCalls;
  readonly background: Background;
  add(waiter: Waiter): void;
  enter(
    waiter: Waiter,
    news: { readonly expectedEnd: EpochMs | null; readonly now: EpochMs },
  ): void;
  leave(waiter: Waiter): void;
}

/** The final decision at the end of a wait may take this much longer (L26). */
const finalMs = 1_000;
/** Pause between two `waiting` events. */
const tellMs = 10_000;

/**
 * One acquiring call that may wait: runs the steps of {@link AttemptFacts} against the engine, the
 * clock and the caller's signal, and settles the call exactly once (I18).
 */
export class Waiter {
  readonly wish: Wish;
  readonly startMs: MonotonicMs;
  readonly promise: Promise<Granted>;
  id: string;
  facts: AttemptFacts = newAttempt;
  readonly #host: WaiterHost;
  readonly #waitMs: DurationMs;
  readonly #signal: AbortSignal | undefined;
  /** Numbers of the ticket on the further locks of a batch. */
  #numbers: ReadonlyMap<string, number> = new Map();
  /** The lock that holds the ticket back, as far as is known; looks go there. */
  lockName: string;
  #resolve!: (granted: Granted) => void;
  #reject!: (error: unknown) => void;
  #timer: QueuedTimer | undefined;
  #tellTimer: QueuedTimer | undefined;
  #retryTimer: QueuedTimer | undefined;
  #failures = 0;
  #sentAtMs: MonotonicMs;
  #lastError: unknown;

  constructor(
    host: WaiterHost,
    wish: Wish,
    terms: { readonly waitMs: DurationMs; readonly signal: AbortSignal | undefined },
  ) {
    this.#host = host;
    this.wish = wish;
    this.#waitMs = terms.waitMs;
    this.#signal = terms.signal;
    this.lockName = wish.name;
    this.id = host.context.entropy.id();
    this.startMs = host.context.clock.monotonicMs();
    this.#sentAtMs = this.startMs;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#signal?.addEventListener("abort", this.#onAbort, { once: true });
    host.add(this);
    this.#ask();
  }

  /** The ticket as a look at the lock that holds it back names it; null while none is known. */
  get ticket(): TicketRef | null {
    const { lockName, wish, id } = this;
    const number = this.#numbers.get(lockName) ?? this.facts.number;
    return number === null ? null : wish.ticketOn(lockName, id, number);
  }

  get #waitEndMs(): MonotonicMs {
    return this.startMs + this.#waitMs;
  }

  /** Told what became of the ticket, by a look or by a decision of the same space. */
  answer(answer: TicketAnswer, sentAtMs: MonotonicMs): void {
    this.#sentAtMs = sentAtMs;
    this.#take(onTicketAnswer(this.facts, this.#unlessOver(answer, sentAtMs)));
  }

  /** Told of the state of the lock while the ticket waits. */
  observe(denial: Denial): void {
    if (this.facts.phase === "queued") this.facts = { ...this.facts, denial };
  }

  /** Ends the call because the space closes. */
  close(isTicketKept: boolean): void {
    const { facts, action } = onGivenUp(this.facts);
    this.facts = facts;
    if (action.do !== "fail") return;
    if (!isTicketKept) this.#cancelIfStored();
    this.#end();
    this.#reject(new SpaceClosedError(`the space, while waiting for ${this.wish.name},`));
  }

  #onAbort = (): void => {
    const { facts, action } = onGivenUp(this.facts);
    this.facts = facts;
    if (action.do !== "fail") return;
    this.#cancelIfStored();
    this.#end();
    this.#reject(new LockAbortedError(this.wish.name, this.#signal?.reason));
  };

  /**
   * A lease whose local deadline has passed before its call could be told of it, because the
   * process was stopped or the store was slow, is not handed out: the grant is given back, and the
   * attempt counts as gone (L25, L49).
   */
  #unlessOver<Result extends { readonly kind: string }>(
    result: Result,
    sentAtMs: MonotonicMs,
  ): Result | GoneAnswer {
    const isPlain = !isGrant(result) || this.facts.phase === "settled";
    if (isPlain || !this.wish.isOverdue(result.grant, sentAtMs)) return result;
    this.#cancel();
    return { id: this.id, kind: "gone", how: null };
  }

  #take(step: AttemptStep): void {
    this.facts = step.facts;
    try {
      this.#perform(step.action);
    } catch (error) {
      // Nothing may keep a call from settling (I18).
      this.#fail(error);
    }
  }

  #perform(action: AttemptAction): void {
    const { name } = this.wish;
    switch (action.do) {
      case "ask":
      case "advance-then-ask":
        return this.#ask(action.do === "advance-then-ask");
      case "ask-anew":
        this.#host.context.events.emit("ticketLost", { name, how: action.how ?? "unknown" });
        return this.#askAnew();
      case "retry":
        return this.#retry();
      case "leave":
        return this.#leave();
      case "grant":
        return this.#granted(action.grant);
      case "refuse":
        this.#cancelIfStored();
        return this.#fail(new LockWaitTimeoutError(action.denial, this.#waitedMs()));
      case "full":
        this.#cancelIfStored();
        return this.#fail(new QueueFullError(name, action.depth, action.limit));
      case "mismatch":
        this.#cancelIfStored();
        return this.#fail(new LimitMismatchError(name, action.recorded, this.wish.limit));
      case "fail-with":
        this.#cancelIfStored();
        return this.#fail(action.error);
      case "fail":
        if (action.isCancelDue) this.#cancelIfStored();
        return this.#fail(this.#lastFailure());
      case "cancel":
        return this.#cancel();
      case "await-grant":
      case "nothing":
        return undefined;
    }
  }

  #ask(isAdvanceFirst = false): void {
    const { calls } = this.#host;
    const { keys, scope, name } = this.wish;
    const bounds = { deadlineMs: this.#waitEndMs + finalMs, signal: this.#signal };
    const { id } = this;
    const decide = this.wish.ask(this.#attempted());
    const advanced = isAdvanceFirst
      ? calls.once(keys, (snapshot) => decideAdvance(snapshot, { scope, name }), bounds)
      : undefined;
    const ask = (): Promise<void> =>
      calls.once(keys, decide, bounds).then(({ outcome, sentAtMs }) => {
        if (id !== this.id) return;
        this.#failures = 0;
        if (this.facts.phase !== "settled") this.#sentAtMs = sentAtMs;
        this.#take(onAsked(this.facts, this.#unlessOver(outcome.result, sentAtMs)));
        if (outcome.result.kind === "queued") this.#queued(outcome.now, outcome.result);
      });
    const asked = advanced === undefined ? ask() : advanced.then(ask);
    asked.catch((error: unknown) => this.#failed(error, id));
  }

  #attempted(): Attempted {
    const leftMs = Math.max(1, this.#waitEndMs - this.#host.context.clock.monotonicMs());
    const waitMs = waitOf(this.#waitMs, leftMs);
    return { id: this.id, isRepeat: this.facts.isRepeat, waitMs };
  }

  #queued(now: EpochMs, { also = [], denial, expectedEnd }: Queued): void {
    if (this.facts.phase === "settled") return;
    const { context } = this.#host;
    this.#numbers = new Map(also.map(({ name, number }) => [name, number]));
    this.lockName = denial.via ?? denial.name;
    this.#host.enter(this, { now, expectedEnd });
    if (this.facts.phase !== "queued") return;
    if (this.#timer === undefined && Number.isFinite(this.#waitEndMs)) {
      const onTime = (): void => this.#take(onWaitOver(this.facts));
      this.#timer = context.timers.schedule(this.#waitEndMs, onTime, { referenced: true });
    }
    if (this.#tellTimer === undefined) this.#tell();
  }

  /** Tells that the call waits, at once and every 10 s. */
  #tell(): void {
    const { context } = this.#host;
    const { denial } = this.facts;
    if (denial !== null) {
      const { name } = this.wish;
      context.events.emit("waiting", { name, denial, waitedMs: this.#waitedMs() });
    }
    const nextMs = context.clock.monotonicMs() + tellMs;
    this.#tellTimer = context.timers.schedule(nextMs, () => this.#tell());
  }

  #askAnew(): void {
    this.#host.leave(this);
    this.id = this.#host.context.entropy.id();
    this.#host.add(this);
    this.#ask();
  }

  #leave(): void {
    const { calls, context } = this.#host;
    const { scope, keys } = this.wish;
    const ticket = this.ticket as TicketRef;
    const command = { scope, name: this.lockName, ticket };
    const deadlineMs = Math.max(context.clock.monotonicMs(), this.#waitEndMs) + finalMs;
    calls
      .untilAnswered(keys, (snapshot) => decideGiveUp(snapshot, command), { deadlineMs })
      .then(({ outcome, sentAtMs }) => {
        if (this.facts.phase !== "settled") this.#sentAtMs = sentAtMs;
        this.#take(onLeft(this.facts, this.#unlessOver(outcome.result, sentAtMs)));
      })
      .catch((error: unknown) => {
        this.#lastError = error;
        if (error instanceof EngineUnavailableError) this.#take(noAnswer(this.facts));
        else this.#failed(error, this.id);
      });
  }

  #failed(error: unknown, id: string): void {
    if (id !== this.id) return;
    if (!(error instanceof EngineUnavailableError)) {
      if (this.facts.phase === "settled") return;
      this.#cancelIfStored();
      this.facts = { ...this.facts, phase: "settled" };
      this.#fail(error);
      return;
    }
    this.#lastError = error;
    const isOver = this.#host.context.clock.monotonicMs() >= this.#waitEndMs;
    if (isOver) this.facts = { ...this.facts, isWaitOver: true };
    this.#take(onFailed(this.facts, error));
  }

  #retry(): void {
    const { calls, context } = this.#host;
    const atMs = context.clock.monotonicMs() + calls.pauseMs(this.#failures);
    this.#failures += 1;
    const { id } = this;
    const onTime = (): void => {
      if (id === this.id && this.facts.phase === "asking") this.#ask();
    };
    this.#retryTimer = context.timers.schedule(atMs, onTime, { referenced: true });
  }

  #granted(grant: GrantFacts): void {
    const waitedMs = this.#waitedMs();
    this.#end();
    this.#resolve({ grant, sentAtMs: this.#sentAtMs, waitedMs });
  }

  #fail(error: unknown): void {
    this.#end();
    this.#reject(error);
  }

  /** Frees everything that the call used (L122). */
  #end(): void {
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#timer?.cancel();
    this.#tellTimer?.cancel();
    this.#retryTimer?.cancel();
    this.#host.leave(this);
  }

  #cancelIfStored(): void {
    if (this.facts.mayBeStored) this.#cancel();
  }

  #cancel(): void {
    this.wish.cancel({ id: this.id, number: this.facts.number });
  }

  #waitedMs(): number {
    return Math.ceil(this.#host.context.clock.monotonicMs() - this.startMs);
  }

  /** The last error of the engine; its outcome is that of all attempts of the call. */
  #lastFailure(): unknown {
    const error = this.#lastError ?? this.#noAnswerError();
    if (!(error instanceof EngineUnavailableError)) return error;
    return withOutcome(error, this.facts.mayBeStored);
  }

  #noAnswerError(): EngineUnavailableError {
    const { engine } = this.#host.context.engine.capabilities;
    return new EngineUnavailableError(engine, "no decision was answered while waiting", {
      outcome: this.facts.mayBeStored ? "unknown" : "none",
      isTransient: true,
    });
  }
}

interface GoneAnswer {
  readonly id: string;
  readonly kind: "gone";
  readonly how: null;
}

function isGrant(result: object): result is { readonly grant: GrantFacts } {
  return "grant" in result;
}

function waitOf(waitMs: number, leftMs: number): number | null {
  if (waitMs === 0) return 0;
  return Number.isFinite(leftMs) ? Math.ceil(leftMs) : null;
}
