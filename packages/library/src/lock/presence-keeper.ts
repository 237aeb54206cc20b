import { presenceKey } from "../core/lock/keys.ts";
import { decidePresence } from "../core/lock/space-records.ts";
import type { QueuedTimer } from "../time/timer-queue.ts";
import type { EngineCalls } from "./engine-calls.ts";
import type { SpaceContext } from "./space-context.ts";

/** Renewals in one length of the presence lease (section 3). */
const renewalsPerLength = 3;

/**
 * Renews the presence record of a space while its tickets wait, every third of its length; the
 * enqueue itself has written it (L21).
 */
export class PresenceKeeper {
  readonly #context: SpaceContext;
  readonly #calls: EngineCalls;
  #timer: QueuedTimer | undefined;
  #isRunning = false;
  wasStarted = false;

  constructor(context: SpaceContext, calls: EngineCalls) {
    this.#context = context;
    this.#calls = calls;
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.wasStarted = true;
    this.#plan();
  }

  stop(): void {
    this.#isRunning = false;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #plan(): void {
    const { timers, clock, config } = this.#context;
    const atMs = clock.monotonicMs() + config.presenceMs / renewalsPerLength;
    this.#timer = timers.schedule(atMs, () => this.#renew());
  }

  #renew(): void {
    if (!this.#isRunning) return;
    const { scope, clock, config, events } = this.#context;
    const keys = [presenceKey(scope.namespace, scope.presence)];
    const deadlineMs = clock.monotonicMs() + config.presenceMs / renewalsPerLength;
    this.#calls
      .plain(keys, (snapshot) => decidePresence(snapshot, scope), {
        deadlineMs,
        isBackground: true,
      })
      .catch((error: unknown) => events.fail(error, "renewing the presence"));
    this.#plan();
  }
}
