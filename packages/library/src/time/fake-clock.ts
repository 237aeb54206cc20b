import type { DurationMs, EpochMs, MonotonicMs } from "../core/scalars.ts";
import type { Clock, Timer } from "./clock.ts";

/** Most turns of the real event loop that one settling may take. */
const turnsMax = 1000;
/** Turns without a yield after which the event loop is at rest; file events need one or two. */
const quietTurns = 3;

/**
 * A clock that stands still until a test moves it.
 *
 * `await clock.advance(ms)` fires the timers that come due, each at its own instant and in order,
 * and lets promises and yields run in between, so that what a timer starts can set further timers
 * that fire within the same advance. Calendar and monotonic time can be moved apart.
 */
export class FakeClock implements Clock {
  readonly #timers: FakeTimer[] = [];
  #wallMs: EpochMs;
  #monotonicMs: MonotonicMs;
  #yields = 0;
  #serial = 0;
  /** Calendar milliseconds that pass per monotonic one; 1 when the clocks agree. */
  wallRate = 1;

  constructor(start: { readonly wallMs?: EpochMs; readonly monotonicMs?: MonotonicMs } = {}) {
    this.#wallMs = start.wallMs ?? Date.UTC(2030, 0, 1);
    this.#monotonicMs = start.monotonicMs ?? 1000;
  }

  wallMs(): EpochMs {
    return Math.floor(this.#wallMs);
  }

  monotonicMs(): MonotonicMs {
    return this.#monotonicMs;
  }

  timer(afterMs: DurationMs, fire: () => void): Timer {
    this.#serial += 1;
    const atMs = this.#monotonicMs + Math.max(0, afterMs);
    const timer = new FakeTimer(this.#timers, { atMs, serial: this.#serial, fire });
    this.#timers.push(timer);
    return timer;
  }

  yield(fire: () => void): void {
    this.#yields += 1;
    setImmediate(() => {
      this.#yields -= 1;
      fire();
    });
  }

  /** How many timers wait; 0 after everything that a test started has been closed. */
  get timerCount(): number {
    return this.#timers.length;
  }

  /** How many of them keep the process alive. */
  get referencedCount(): number {
    return this.#timers.filter((timer) => timer.isReferenced).length;
  }

  /** Monotonic instant of the next timer, `Infinity` when there is none. */
  get nextAtMs(): MonotonicMs {
    return this.#next()?.atMs ?? Infinity;
  }

  /** Lets `ms` pass, firing what comes due. */
  async advance(ms: DurationMs): Promise<void> {
    const untilMs = this.#monotonicMs + ms;
    await this.settle();
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      if (next.atMs > untilMs) break;
      this.stall(Math.max(0, next.atMs - this.#monotonicMs));
      next.fireNow();
      // oxlint-disable-next-line no-await-in-loop -- what a timer starts may set the next one
      await this.settle();
    }
    this.stall(untilMs - this.#monotonicMs);
  }

  /** Fires the next timer without any time passing: a timer that is early. */
  async fireEarly(): Promise<void> {
    this.#next()?.fireNow();
    await this.settle();
  }

  /** Lets `ms` pass without firing anything: a blocked event loop, or a paused process. */
  stall(ms: DurationMs): void {
    this.#monotonicMs += ms;
    this.#wallMs += ms * this.wallRate;
  }

  /** Sets the calendar, as people do; monotonic time does not notice. */
  setWall(wallMs: EpochMs): void {
    this.#wallMs = wallMs;
  }

  /** Lets promises and yields run until no yield is left. */
  async settle(): Promise<void> {
    let quiet = 0;
    for (let turn = 0; turn < turnsMax; turn += 1) {
      // oxlint-disable-next-line no-await-in-loop -- turns follow each other
      await new Promise<void>((resume) => setImmediate(resume));
      quiet = this.#yields === 0 ? quiet + 1 : 0;
      if (quiet >= quietTurns) return;
    }
    throw new Error(`the event loop did not come to rest within ${turnsMax} turns`);
  }

  #next(): FakeTimer | undefined {
    let next: FakeTimer | undefined;
    for (const timer of this.#timers) {
      if (next === undefined || timer.isBefore(next)) next = timer;
    }
    return next;
  }
}

class FakeTimer implements Timer {
  readonly #all: FakeTimer[];
  readonly #serial: number;
  readonly #fire: () => void;
  readonly atMs: MonotonicMs;
  isReferenced = false;

  constructor(all: FakeTimer[], due: { atMs: MonotonicMs; serial: number; fire: () => void }) {
    this.#all = all;
    this.atMs = due.atMs;
    this.#serial = due.serial;
    this.#fire = due.fire;
  }

  cancel(): void {
    const place = this.#all.indexOf(this);
    if (place >= 0) this.#all.splice(place, 1);
  }

  setReferenced(isReferenced: boolean): void {
    this.isReferenced = isReferenced;
  }

  isBefore(other: FakeTimer): boolean {
    return this.atMs < other.atMs || (this.atMs === other.atMs && this.#serial < other.#serial);
  }

  fireNow(): void {
    this.cancel();
    this.#fire();
  }
}
