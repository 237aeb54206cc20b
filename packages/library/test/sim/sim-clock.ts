import type { DurationMs, EpochMs, MonotonicMs } from "../../src/core/scalars.ts";
import type { Clock, Timer } from "../../src/time/clock.ts";
import type { FakeClock } from "../../src/time/fake-clock.ts";

/**
 * The clock of one simulated process over the world's: it drifts, its calendar is set by people,
 * and while the process is paused none of its timers fires.
 */
export class SimClock implements Clock {
  readonly #world: FakeClock;
  readonly #rate: number;
  readonly #held: (() => void)[] = [];
  #wallShiftMs = 0;
  #isPaused = false;
  #isDead = false;

  /** `rate` is the process's milliseconds in one of the world's. */
  constructor(world: FakeClock, rate: number) {
    this.#world = world;
    this.#rate = rate;
  }

  wallMs(): EpochMs {
    return this.#world.wallMs() + this.#wallShiftMs;
  }

  monotonicMs(): MonotonicMs {
    return this.#world.monotonicMs() * this.#rate;
  }

  timer(afterMs: DurationMs, fire: () => void): Timer {
    // Rounded up, as a system's timers are: one that fires a hair early would be set again for
    // ever.
    const worldMs = Math.ceil((afterMs / this.#rate) * 1_000 + 1) / 1_000;
    return this.#world.timer(worldMs, () => this.run(fire));
  }

  yield(fire: () => void): void {
    this.#world.yield(() => this.run(fire));
  }

  /** Runs something of the process: now, when it wakes, or never. */
  run(act: () => void): void {
    if (this.#isDead) return;
    if (this.#isPaused) this.#held.push(act);
    else act();
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    for (const act of this.#held.splice(0)) act();
  }

  /** The process is gone; nothing of it runs any more. */
  die(): void {
    this.#isDead = true;
    this.#held.length = 0;
  }

  shiftWall(ms: DurationMs): void {
    this.#wallShiftMs += ms;
  }
}
