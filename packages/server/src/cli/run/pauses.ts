import type { Clock } from "leasehold";

/** Resolves after a length of time; keeps the process alive until then. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.timer(ms, resolve).setReferenced(true);
  });
}

/** Waits for a promise, but not for ever: resolves with whether it settled within the time. */
export function settledWithin(
  clock: Clock,
  ms: number,
  promise: Promise<unknown>,
): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.timer(ms, () => resolve(false));
    timer.setReferenced(true);
    const settle = (): void => {
      timer.cancel();
      resolve(true);
    };
    promise.then(settle, settle);
  });
}
