import { expect, test, vi } from "vitest";

import { FakeClock } from "../../src/time/fake-clock.ts";
import { systemClock } from "../../src/time/system-clock.ts";
import { createSystemEntropy } from "../../src/time/system-entropy.ts";

test("fake timers fire at their own instants, and promises run between them", async () => {
  const clock = new FakeClock({ wallMs: 5000, monotonicMs: 0 });
  const log: string[] = [];
  const nap = (ms: number): Promise<void> => new Promise((wake) => void clock.timer(ms, wake));
  const sleeper = async (name: string, ms: number): Promise<void> => {
    for (let n = 0; n < 3; n += 1) {
      await nap(ms);
      log.push(`${name} ${clock.monotonicMs()}`);
    }
  };
  void sleeper("a", 10);
  void sleeper("b", 15);
  await clock.advance(46);
  expect(log).toEqual(["a 10", "b 15", "a 20", "b 30", "a 30", "b 45"]);
  expect(clock.monotonicMs()).toBe(46);
  expect(clock.wallMs()).toBe(5046);
});

test("setting the fake calendar and its rate leaves monotonic time alone", async () => {
  const clock = new FakeClock({ wallMs: 1000, monotonicMs: 0 });
  clock.setWall(900_000);
  clock.wallRate = 2;
  await clock.advance(10);
  expect([clock.wallMs(), clock.monotonicMs()]).toEqual([900_020, 10]);
});

test("yields of the fake clock run before an advance goes on", async () => {
  const clock = new FakeClock();
  const log: string[] = [];
  clock.timer(10, () => clock.yield(() => clock.yield(() => log.push("yielded"))));
  clock.timer(11, () => log.push("next"));
  await clock.advance(20);
  expect(log).toEqual(["yielded", "next"]);
});

test("timers of the system clock beyond 2^31-1 ms are chained [L59]", () => {
  vi.useFakeTimers();
  try {
    let fired = 0;
    const days = 60 * 24 * 3600 * 1000;
    systemClock.timer(days, () => (fired += 1));
    vi.advanceTimersByTime(days - 1);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(1);
    const cancelled = systemClock.timer(days, () => (fired += 1));
    vi.advanceTimersByTime(2 ** 31);
    cancelled.cancel();
    vi.advanceTimersByTime(days);
    expect(fired).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});

test("ids are 22 characters of base64url and never repeat", () => {
  const entropy = createSystemEntropy();
  const ids = new Set(Array.from({ length: 5000 }, () => entropy.id()));
  expect(ids.size).toBe(5000);
  for (const id of ids) expect(id).toMatch(/^[\w-]{22}$/);
});
