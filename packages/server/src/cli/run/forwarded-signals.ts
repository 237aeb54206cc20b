import type { Clock } from "leasehold";

import type { EndingSignal } from "../interruption.ts";
import { endingSignals } from "../interruption.ts";

/** Equal signals within this time are one: a terminal signals launcher and wrapper alike. */
const sameMsMax = 200;

/**
 * Takes the signals that ask the wrapper to end, from its making until it is disposed.
 *
 * At first a signal fires `waiting`, which ends the wait for the lock. Once there is a command to
 * hand them to, `forward` is called with each; one that came before is handed over at once.
 */
export class ForwardedSignals implements Disposable {
  readonly #clock: Clock;
  readonly #waiting = new AbortController();
  readonly #seenAtMs: Map<NodeJS.Signals, number> = new Map();
  #first: EndingSignal | undefined;
  #forward: ((name: EndingSignal) => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    for (const name of endingSignals) process.on(name, this.#take);
  }

  /** Fires at the first signal. */
  get waiting(): AbortSignal {
    return this.#waiting.signal;
  }

  /** The first signal; undefined while there was none. */
  get first(): EndingSignal | undefined {
    return this.#first;
  }

  /** From now on hands signals over, the first one too if it has come already. */
  forwardTo(forward: (name: EndingSignal) => void): void {
    this.#forward = forward;
    if (this.#first !== undefined) forward(this.#first);
  }

  [Symbol.dispose](): void {
    for (const name of endingSignals) process.off(name, this.#take);
  }

  #take = (name: NodeJS.Signals): void => {
    const nowMs = this.#clock.monotonicMs();
    const seenAtMs = this.#seenAtMs.get(name);
    this.#seenAtMs.set(name, nowMs);
    if (seenAtMs !== undefined && nowMs - seenAtMs < sameMsMax) return;
    this.#first ??= name as EndingSignal;
    this.#waiting.abort(new Error(`interrupted by ${name}`));
    this.#forward?.(name as EndingSignal);
  };
}
