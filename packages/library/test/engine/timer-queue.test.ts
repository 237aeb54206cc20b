import { expect, test } from "vitest";

import { FakeClock } from "../../src/time/fake-clock.ts";
import { TimerQueue } from "../../src/time/timer-queue.ts";

function setup(): {
  clock: FakeClock;
  queue: TimerQueue;
  fired: string[];
  errors: unknown[];
  late: number[];
} {
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const late: number[] = [];
  const queue = new TimerQueue(clock, {
    onError: (error) => errors.push(error),
    onLate: (ms) => late.push(ms),
  });
  return { clock, queue, fired: [], errors, late };
}

test("entries fire in the order of their deadlines, over one timer of the clock", async () => {
  const { clock, queue, fired } = setup();
  const start = clock.monotonicMs();
  for (const ms of [50, 10, 40, 20, 30]) queue.schedule(start + ms, () => fired.push(`${ms}`));
  expect(clock.timerCount).toBe(1);
  await clock.advance(35);
  expect(fired).toEqual(["10", "20", "30"]);
  await clock.advance(100);
  expect(fired).toEqual(["10", "20", "30", "40", "50"]);
  expect(clock.timerCount).toBe(0);
});

test("an early timer is set again, and its entry fires in time [L36 M21]", async () => {
  const { clock, queue, fired } = setup();
  queue.schedule(clock.monotonicMs() + 100, () => fired.push("due"));
  await clock.fireEarly();
  expect(fired).toEqual([]);
  expect(clock.timerCount).toBe(1);
  await clock.advance(100);
  expect(fired).toEqual(["due"]);
});

test("a cancelled entry never fires, and the last one frees the timer", async () => {
  const { clock, queue, fired } = setup();
  const start = clock.monotonicMs();
  const first = queue.schedule(start + 10, () => fired.push("first"));
  const second = queue.schedule(start + 20, () => fired.push("second"));
  first.cancel();
  first.cancel();
  await clock.advance(15);
  expect(fired).toEqual([]);
  second.cancel();
  expect(queue.size).toBe(0);
  expect(clock.timerCount).toBe(0);
});

test("the timer is set again only for an earlier deadline", () => {
  const clock = new FakeClock();
  let timers = 0;
  const counting = Object.assign(Object.create(clock) as FakeClock, {
    monotonicMs: () => clock.monotonicMs(),
    timer: (ms: number, fire: () => void) => {
      timers += 1;
      return clock.timer(ms, fire);
    },
  });
  const queue = new TimerQueue(counting, { onError: () => undefined });
  const start = clock.monotonicMs();
  const entries = Array.from({ length: 100 }, (_, n) => queue.schedule(start + n + 1, () => n));
  expect(timers).toBe(1);
  for (const entry of entries.slice(0, 50)) entry.cancel();
  expect(timers).toBe(1);
  queue.schedule(start + 0.5, () => undefined);
  expect(timers).toBe(2);
});

test("what an entry throws goes to onError, and the others still fire [L50]", async () => {
  const { clock, queue, fired, errors } = setup();
  const at = clock.monotonicMs() + 10;
  const broken = new Error("broken");
  queue.schedule(at, () => {
    throw broken;
  });
  queue.schedule(at, () => fired.push("other"));
  await clock.advance(10);
  expect(errors).toEqual([broken]);
  expect(fired).toEqual(["other"]);
});

test("lateness of a blocked process is reported", async () => {
  const { clock, queue, late } = setup();
  queue.schedule(clock.monotonicMs() + 10, () => undefined);
  clock.stall(510);
  await clock.advance(0);
  expect(late).toEqual([500]);
});

test("the timer keeps the process alive only while a referenced entry waits [L120]", async () => {
  const { clock, queue } = setup();
  const start = clock.monotonicMs();
  queue.schedule(start + 30, () => undefined);
  expect(clock.referencedCount).toBe(0);
  const entry = queue.schedule(start + 20, () => undefined, { referenced: true });
  expect(clock.referencedCount).toBe(1);
  entry.cancel();
  expect(clock.referencedCount).toBe(0);
  queue.schedule(start + 10, () => undefined, { referenced: true });
  await clock.advance(10);
  expect(clock.referencedCount).toBe(0);
});

test("an entry set by a firing one fires in its turn", async () => {
  const { clock, queue, fired } = setup();
  const start = clock.monotonicMs();
  queue.schedule(start + 10, () => {
    fired.push("first");
    queue.schedule(start + 15, () => fired.push("second"));
  });
  await clock.advance(20);
  expect(fired).toEqual(["first", "second"]);
});

test("random schedules and cancellations fire exactly what is left, in order", async () => {
  const { clock, queue } = setup();
  const start = clock.monotonicMs();
  let seed = 42;
  const random = (most: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % most;
  };
  const fired: number[] = [];
  const expected: number[] = [];
  for (let n = 0; n < 2000; n += 1) {
    const ms = random(1000) + n / 10_000;
    const entry = queue.schedule(start + ms, () => fired.push(ms));
    if (random(3) === 0) entry.cancel();
    else expected.push(ms);
  }
  await clock.advance(1001);
  expect(fired).toEqual(expected.toSorted((a, b) => a - b));
  expect(queue.size).toBe(0);
});

test("close drops everything", async () => {
  const { clock, queue, fired } = setup();
  queue.schedule(clock.monotonicMs() + 5, () => fired.push("x"), { referenced: true });
  queue.close();
  await clock.advance(10);
  expect(fired).toEqual([]);
  expect(clock.timerCount).toBe(0);
});
