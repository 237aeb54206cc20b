import type { DurationMs, EpochMs, MonotonicMs } from "../core/scalars.ts";
import type { Clock, Timer } from "./clock.ts";

/** The longest delay that a timer of the runtime takes; a longer one would fire at once. */
const delayMsMax = 2 ** 31 - 1;

/**
 * The clock of the host.
 *
 * `monotonicMs` is CLOCK_MONOTONIC in milliseconds with a fraction: it starts with the host, so all
 * threads and processes of one boot read the same instant from it.
 */
export const systemClock: Clock = Object.freeze({
  wallMs: (): EpochMs => Date.now(),
  monotonicMs: (): MonotonicMs => Number(process.hrtime.bigint()) / 1e6,
  timer: (afterMs: DurationMs, fire: () => void): Timer => new SystemTimer(afterMs, fire),
  yield: (fire: () => void): void => {
    setImmediate(fire);
  },
});

/** A timer of the runtime; lengths beyond its own limit are waited for in parts (L59). */
class SystemTimer implements Timer {
  readonly #fire: () => void;
  #leftMs: number;
  #isReferenced = false;
  #part: NodeJS.Timeout | undefined;

  constructor(afterMs: DurationMs, fire: () => void) {
    this.#fire = fire;
    this.#leftMs = Math.max(0, Math.ceil(afterMs));
    this.#startPart();
  }

  cancel(): void {
    clearTimeout(this.#part);
    this.#part = undefined;
    this.#leftMs = 0;
  }

  setReferenced(isReferenced: boolean): void {
    this.#isReferenced = isReferenced;
    if (isReferenced) this.#part?.ref();
    else this.#part?.unref();
  }

  #startPart(): void {
    const partMs = Math.min(this.#leftMs, delayMsMax);
    this.#leftMs -= partMs;
    this.#part = setTimeout(() => this.#endPart(), partMs);
    if (!this.#isReferenced) this.#part.unref();
  }

  #endPart(): void {
    this.#part = undefined;
    if (this.#leftMs > 0) this.#startPart();
    else this.#fire();
  }
}
