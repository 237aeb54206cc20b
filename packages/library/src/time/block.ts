import type { DurationMs } from "../core/scalars.ts";
import { systemClock } from "./system-clock.ts";

const cell = new Int32Array(new SharedArrayBuffer(4));

/** Stops this thread for `ms`, fractions included. For threads that serve nobody meanwhile. */
export function blockFor(ms: DurationMs): void {
  Atomics.wait(cell, 0, 0, ms);
}

/** Looks at the clock between so many looks at a cell. */
const looksPerClock = 64;

/**
 * Keeps this thread busy until a shared cell no longer holds `value`, for `msMax` at most; tells
 * whether it has changed. To wake a sleeping thread takes longer than most short answers.
 */
export function spinWhile(shared: Int32Array, value: number, msMax: DurationMs): boolean {
  const untilMs = systemClock.monotonicMs() + msMax;
  for (;;) {
    for (let look = 0; look < looksPerClock; look += 1) {
      if (Atomics.load(shared, 0) !== value) return true;
    }
    if (systemClock.monotonicMs() >= untilMs) return false;
  }
}
