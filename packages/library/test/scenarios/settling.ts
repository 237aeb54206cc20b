import type { FakeClock } from "../../src/time/fake-clock.ts";

/** The error with which a call rejects; a call that resolves fails the test. */
export async function rejection(call: Promise<unknown>): Promise<unknown> {
  const settled = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ("error" in settled) return settled.error;
  throw new Error(`the call resolved with ${String(settled.value)}`);
}

/** Lets the same time pass on several clocks, in steps, as for processes on one host. */
export async function advanceTogether(
  clocks: readonly FakeClock[],
  ms: number,
  stepMs = 10,
): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    for (const clock of clocks) await clock.advance(Math.min(stepMs, ms - passed));
  }
  for (const clock of clocks) await clock.settle();
}
