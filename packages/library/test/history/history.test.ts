import { describe, expect, test } from "vitest";

import { recordHistory, type HistoryReport } from "./record-history.ts";
import { tokenOrderBreaks, type RecordedGrant } from "./token-order.ts";

const known = new Set(["LOCK_WAIT_TIMEOUT", "LEASE_LOST", "ENGINE_UNAVAILABLE", "QUEUE_FULL"]);

function expectSound(report: HistoryReport): void {
  expect(report.breaks).toEqual([]);
  expect(report.stuck).toEqual([]);
  // Nothing is thrown from a timer or left unhandled, whatever happens to a process.
  expect(report.unhandled).toEqual([]);
  expect(Object.keys(report.errors).filter((code) => !known.has(code))).toEqual([]);
}

describe("histories of real processes on one SQLite file", { timeout: 90_000 }, () => {
  test("killed, stopped longer than the lease, under a calendar that jumps: tokens in order, calls linearizable [LS63] [LS73] [L36] [L48] [L49] [L50] [L53] [I1] [I2] [I9] [I32]", async () => {
    const report = await recordHistory({ processes: 4, seconds: 16, seed: 1, hasShifts: true });
    expectSound(report);
    expect(report.grants).toBeGreaterThan(100);
    expect(report.kills).toBeGreaterThan(0);
    expect(report.stops).toBeGreaterThan(0);
    expect(report.shifts).toBeGreaterThan(0);
    expect(report.unknown).toBeGreaterThan(0);
    expect(report.finished).toBeGreaterThanOrEqual(4);
  });

  test("each flush of the disk delayed: the same", async () => {
    const delayed = ["strace", "-f", "-qq", "-o", "/dev/null", "--seccomp-bpf"];
    const fault = ["-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_enter=8000"];
    const under = ["/usr/bin/strace", ...delayed.slice(1), ...fault];
    const report = await recordHistory({ processes: 2, seconds: 9, seed: 4, under });
    expectSound(report);
    expect(report.grants).toBeGreaterThan(20);
  });

  test("some flushes of the disk failing: the outcome is unknown, and the same holds [L117]", async () => {
    const options = ["-f", "-qq", "-o", "/dev/null", "--seccomp-bpf", "-e", "trace=fsync"];
    const fault = ["-e", "inject=fsync:error=EIO:when=40+60"];
    const under = ["/usr/bin/strace", ...options, ...fault];
    const report = await recordHistory({ processes: 2, seconds: 9, seed: 5, under });
    expectSound(report);
    expect(report.grants).toBeGreaterThan(20);
  });
});

/** A grant of ten milliseconds, `token` times ten after the start. */
function grant(token: number, more: Partial<RecordedGrant> = {}): RecordedGrant {
  const askedMs = token * 10;
  const own = { name: "n", token, mode: "exclusive", askedMs } as const;
  return { ...own, grantedMs: askedMs + 1, lastHeldMs: askedMs + 5, ...more };
}

describe("the token-order checker", () => {
  test.for<readonly [string, readonly RecordedGrant[], number]>([
    ["grants one after the other", [grant(1), grant(2), grant(3)], 0],
    ["two held at once", [grant(1, { lastHeldMs: 22 }), grant(2)], 1],
    [
      "shared ones held at once",
      [1, 2].map((t) => grant(t, { mode: "shared", lastHeldMs: 30 })),
      0,
    ],
    ["shared under exclusive", [grant(1, { mode: "shared", lastHeldMs: 30 }), grant(2)], 1],
    [
      "a lower token for a later call",
      [grant(1, { askedMs: 40, grantedMs: 41, lastHeldMs: 1 }), grant(2)],
      1,
    ],
  ])("finds in %s what is wrong", ([, grants, breaks]) => {
    expect(tokenOrderBreaks(grants)).toHaveLength(breaks);
  });
});
