import type { DurationMs, EpochMs, MonotonicMs } from "../core/scalars.ts";
import type { Clock } from "../time/clock.ts";

/** Engine time may differ from elapsed time by this much, before it counts as a step (L58). */
const stepMsMin = 1_000;
/** Declared drift between the monotonic clock and engine time. */
const driftPart = 500 / 1_000_000;

/**
 * The last contact with the engine: what calendar, monotonic clock and engine said then. It tells a
 * host that has slept (L60) and a store whose clock was set (L58) from time that simply went by.
 */
export class EngineContact {
  readonly #clock: Clock;
  readonly #clockErrorMs: DurationMs;
  #wallMs: EpochMs;
  #monotonicMs: MonotonicMs;
  #engineMs: EpochMs | null = null;
  #engineAtMs: MonotonicMs;

  constructor(clock: Clock, clockErrorMs: DurationMs) {
    this.#clock = clock;
    this.#clockErrorMs = clockErrorMs;
    this.#wallMs = clock.wallMs();
    this.#monotonicMs = clock.monotonicMs();
    this.#engineAtMs = this.#monotonicMs;
  }

  /** How much further the calendar has moved than the monotonic clock; 0 unless over a second. */
  suspendedMs(): DurationMs {
    const wallMs = this.#clock.wallMs() - this.#wallMs;
    const gapMs = wallMs - (this.#clock.monotonicMs() - this.#monotonicMs);
    return gapMs > stepMsMin ? Math.ceil(gapMs) : 0;
  }

  /**
   * Notes an answer whose decision saw `engineMs`, sent at `sentAtMs`. Returns by how much engine
   * time has stepped since the last one; 0 when it has not.
   */
  answered(engineMs: EpochMs, sentAtMs: MonotonicMs): DurationMs {
    this.#wallMs = this.#clock.wallMs();
    const nowMs = this.#clock.monotonicMs();
    this.#monotonicMs = nowMs;
    const lastMs = this.#engineMs;
    const lastAtMs = this.#engineAtMs;
    if (lastMs !== null && engineMs < lastMs && sentAtMs < lastAtMs) return 0;
    this.#engineMs = engineMs;
    this.#engineAtMs = nowMs;
    if (lastMs === null) return 0;
    const elapsedMs = nowMs - lastAtMs;
    const allowedMs = stepMsMin + this.#clockErrorMs + elapsedMs * driftPart + (nowMs - sentAtMs);
    const stepMs = engineMs - lastMs - elapsedMs;
    return Math.abs(stepMs) > allowedMs ? Math.round(stepMs) : 0;
  }
}
