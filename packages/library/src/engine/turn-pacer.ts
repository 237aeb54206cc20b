import type { Clock } from "../time/clock.ts";

/**
 * Decides when a batch may begin: after the microtasks that are on their way, so that callers whose
 * calls were just settled travel in it, but never for more than `turnMsMax` without letting the
 * event loop serve timers and sockets.
 */
export class TurnPacer {
  readonly #clock: Clock;
  readonly #turnMsMax: number;
  readonly #run: () => void;
  #isScheduled = false;
  #isTurnKnown = false;
  #turnStartMs = 0;

  constructor(clock: Clock, turnMsMax: number, run: () => void) {
    this.#clock = clock;
    this.#turnMsMax = turnMsMax;
    this.#run = (): void => {
      this.#isScheduled = false;
      run();
    };
  }

  /** Runs the batch soon; asking again before it has begun changes nothing. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const nowMs = this.#clock.monotonicMs();
    if (!this.#isTurnKnown) this.#beginTurn(nowMs);
    if (nowMs - this.#turnStartMs > this.#turnMsMax) this.#clock.yield(this.#run);
    // A tick asked for by a microtask comes after every microtask that is queued by then.
    else queueMicrotask(() => process.nextTick(this.#run));
  }

  #beginTurn(nowMs: number): void {
    this.#isTurnKnown = true;
    this.#turnStartMs = nowMs;
    this.#clock.yield(() => {
      this.#isTurnKnown = false;
    });
  }
}
