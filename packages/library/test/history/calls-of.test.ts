import { describe, expect, test } from "vitest";

import { callsOf } from "./calls-of.ts";
import type { CallLine, HistoryLine } from "./history-line.ts";

const asked = { kind: "call", id: 1, client: 0, name: "n" } as const;
const acquire: CallLine = { ...asked, do: "acquire", mode: "exclusive", waits: true, atMs: 100 };
const release: CallLine = { ...asked, do: "release", token: 3, remainingMs: 50, atMs: 100 };
const endedMs = 9_000;

function read(...lines: readonly HistoryLine[]): readonly object[] {
  return callsOf([{ process: 7, lines, endedMs }]);
}

describe("what processes wrote down becomes calls", () => {
  test("a call and its answer are one, told apart by their process", () => {
    const lines: readonly HistoryLine[] = [acquire, { kind: "ok", id: 1, atMs: 110, token: 3 }];
    expect(read(...lines)).toMatchObject([
      { client: "7/0", calledMs: 100, returnedMs: 110, answer: "ok", token: 3 },
    ]);
  });

  test("a call without an end never returned; what it left may stand for a while after the death", () => {
    expect(read(acquire)).toMatchObject([
      { answer: "unknown", returnedMs: Infinity, standsUntilMs: endedMs + 3_000 + 1_000 + 1_000 },
    ]);
  });

  test("a wait that ends later than a final decision may take is no answer of the store", () => {
    const end = { kind: "fail", id: 1 } as const;
    expect(read(acquire, { ...end, atMs: 4_200 })).toMatchObject([{ answer: "fail" }]);
    expect(read(acquire, { ...end, atMs: 5_100 })).toMatchObject([{ answer: "unknown" }]);
  });

  test("a release that ends after the local deadline was one of a lost handle", () => {
    const end = { kind: "fail", id: 1 } as const;
    expect(read(release, { ...end, atMs: 120 })).toMatchObject([{ wasLost: false }]);
    expect(read(release, { ...end, atMs: 160 })).toMatchObject([{ wasLost: true }]);
  });

  test("an error leaves open whether the call happened", () => {
    const end = { kind: "unknown", id: 1, atMs: 120, code: "ENGINE_UNAVAILABLE" } as const;
    expect(read(release, end)).toMatchObject([{ answer: "unknown", returnedMs: Infinity }]);
  });
});
