/** Closed loops and the few statistics that the cases need. */

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** One acquire and one release of a free lock by a caller of this number. */
export type Cycle = (caller: number, turn: number) => Promise<void>;

/** `callers` run cycles one after the other for `ms`; returns the cycles per second of all. */
export async function closedLoop(cycle: Cycle, callers: number, ms: number): Promise<number> {
  const startMs = performance.now();
  const endMs = startMs + ms;
  let count = 0;
  const run = async (_: unknown, caller: number): Promise<void> => {
    for (let turn = 0; performance.now() < endMs; turn += 1) {
      await cycle(caller, turn);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, run));
  return (count / (performance.now() - startMs)) * 1_000;
}

/** Rounds to what such a measurement can tell. */
export function figure(value: number): number {
  return Number(value.toPrecision(4));
}

/** Collected garbage, so that what is left is in use. Needs `--expose-gc`. */
export function heapBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** Lets timers and sockets of this process be served once. */
export function nextTurn(): Promise<void> {
  return new Promise((resume) => {
    setImmediate(resume);
  });
}
