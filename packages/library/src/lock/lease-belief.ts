import type { DurationMs, MonotonicMs } from "../core/scalars.ts";
import { LeaseLostError, LeaseUnverifiedError } from "../errors.ts";
import type { QueuedTimer } from "../time/timer-queue.ts";
import type { LeaseEntries } from "./lease-entries.ts";
import type { LeaseHost, RenewedLease } from "./lease-host.ts";
import {
  effectiveDeadline,
  isOver,
  lose,
  observe,
  suspended,
  type LeaseFacts,
} from "./lease-state.ts";
import type { Loss } from "./loss.ts";
import type { LeaseState } from "./lease-api.ts";

/** What a belief is about: the lease as its space knows it, and its locks. */
export interface BelievedLease extends RenewedLease {
  readonly entries: LeaseEntries;
}

/**
 * What the holder of a lease may believe of it: {@link LeaseFacts} over the clocks. It compares the
 * monotonic clock, and the calendar with it, before anything is said (L49, L60).
 */
export class LeaseBelief {
  readonly #host: LeaseHost;
  readonly #lease: BelievedLease;
  facts: LeaseFacts;
  #timer: QueuedTimer | undefined;
  #abort: AbortController | undefined;
  #loss: Loss | undefined;

  constructor(host: LeaseHost, lease: BelievedLease, facts: LeaseFacts) {
    this.#host = host;
    this.#lease = lease;
    this.facts = facts;
    this.arm();
  }

  get state(): LeaseState {
    this.observe();
    return this.facts.phase;
  }

  get isOver(): boolean {
    return isOver(this.facts);
  }

  get loss(): Loss | undefined {
    return this.facts.phase === "lost" ? this.#loss : undefined;
  }

  get signal(): AbortSignal {
    this.observe();
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.facts.phase === "lost") this.#abort.abort(this.lostError());
    }
    return this.#abort.signal;
  }

  remainingMs(): DurationMs {
    this.observe();
    if (isOver(this.facts)) return 0;
    return Math.max(0, effectiveDeadline(this.facts) - this.#host.context.clock.monotonicMs());
  }

  assertHeld(): void {
    this.observe();
    const { phase } = this.facts;
    if (phase === "held") return;
    if (phase !== "unverified") throw this.lostError();
    const { name, token } = this.#lease.entries.first;
    throw new LeaseUnverifiedError(name, token, this.#host.context.contact.suspendedMs());
  }

  assertNotOver(): void {
    this.observe();
    if (isOver(this.facts)) throw this.lostError();
  }

  /** The host may have slept: nothing is vouched for until the engine answers (L60). */
  suspend(gapMs: DurationMs): void {
    if (this.facts.phase !== "held") return;
    this.facts = suspended(this.facts);
    const { name, token } = this.#lease.entries.first;
    this.#host.context.events.emit("unverified", { name, token, gapMs });
  }

  /** The lease is about to end because its space closes. */
  closeWithSpace(): void {
    this.#loss ??= { reason: "closed" };
  }

  /** Ends the lease for its holder; final (I10). */
  lose(loss: Loss): void {
    if (isOver(this.facts)) return;
    this.#loss = loss;
    this.facts = lose(this.facts, loss.reason);
    this.stop();
    const { name, token } = this.#lease.entries.first;
    this.#host.context.events.emit("lost", { name, token, reason: loss.reason });
    this.#abort?.abort(this.lostError());
  }

  lostError(): LeaseLostError {
    const loss: Loss = this.#loss ?? { reason: "released" };
    const { name, token } = this.#lease.entries.first;
    return new LeaseLostError({ lock: name, token, ...loss });
  }

  /** Compares the clocks; a lease whose local deadline has come is lost. */
  observe(): void {
    const { phase } = this.facts;
    if (phase === "lost" || phase === "released") return;
    this.#host.checkSuspend();
    const nowMs: MonotonicMs = this.#host.context.clock.monotonicMs();
    if (nowMs < effectiveDeadline(this.facts)) return;
    const lostFacts = observe(this.facts, nowMs);
    const isMaxHold = nowMs >= this.#lease.maxHoldAtMs;
    this.lose({ reason: isMaxHold ? "max-hold" : (lostFacts.reason ?? "expired") });
  }

  /** Sets the timer of the local deadline; it wakes nobody who does not listen, and no process. */
  arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (isOver(this.facts)) return;
    const atMs = effectiveDeadline(this.facts);
    this.#timer = this.#host.context.timers.schedule(atMs, () => this.observe());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#host.drop(this.#lease);
  }
}
