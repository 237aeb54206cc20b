import { describe, expect, test } from "vitest";

import type { Mode } from "../../src/core/lock/record.ts";
import { linearize } from "./linearizability.ts";
import { isLinearizablePlainly } from "./plain-search.ts";
import { chanceOf, randomHistory, withWrongAnswer, wrongAnswers } from "./random-history.ts";
import type { RecordedCall } from "./recorded-call.ts";

const leaseMs = 100;
type Span = readonly [calledMs: number, returnedMs: number];

function at(client: string, [calledMs, returnedMs]: Span) {
  return { client, name: "n", calledMs, returnedMs };
}

interface Asked {
  readonly mode?: Mode;
  readonly waits?: boolean;
}

function granted(client: string, span: Span, token: number, asked: Asked = {}): RecordedCall {
  const { mode = "exclusive", waits = false } = asked;
  return { ...at(client, span), do: "acquire", mode, waits, leaseMs, answer: "ok", token };
}

function refused(client: string, span: Span, asked: Asked = {}): RecordedCall {
  const { mode = "exclusive", waits = false } = asked;
  return { ...at(client, span), do: "acquire", mode, waits, answer: "fail" };
}

function unanswered(client: string, calledMs: number, standsUntilMs: number): RecordedCall {
  const span = at(client, [calledMs, Infinity]);
  return {
    ...span,
    do: "acquire",
    mode: "exclusive",
    waits: true,
    answer: "unknown",
    standsUntilMs,
  };
}

type Answer = "ok" | "fail" | "unknown";

function renewed(client: string, span: Span, token: number, answer: Answer = "ok"): RecordedCall {
  return { ...at(client, span), do: "renew", token, leaseMs, answer };
}

function released(client: string, span: Span, token: number, answer: Answer = "ok"): RecordedCall {
  return { ...at(client, span), do: "release", token, wasLost: false, answer };
}

function forced(span: Span, ...ended: readonly number[]): RecordedCall {
  return { ...at("admin", span), do: "force", answer: "ok", ended };
}

const shared = { mode: "shared" } as const;
const waits = { waits: true } as const;
type History = readonly [string, ...RecordedCall[]];

const possible: readonly History[] = [
  ["nothing at all"],
  [
    "one after the other",
    granted("A", [0, 1], 1),
    released("A", [5, 6], 1),
    granted("B", [7, 8], 2),
  ],
  [
    "a grant told after the next one's was asked for",
    granted("A", [0, 9], 1),
    released("A", [9, 12], 1),
    granted("B", [2, 20], 2, waits),
  ],
  [
    "two calls at once, of which the one that ends last was first",
    granted("A", [0, 20], 2),
    granted("B", [1, 11], 1),
    released("B", [12, 13], 1),
  ],
  ["a lease that ran out", granted("A", [0, 1], 1), granted("B", [100, 101], 2)],
  [
    "a lease that ran out under its holder",
    granted("A", [0, 1], 1),
    renewed("A", [101, 102], 1, "fail"),
    released("A", [103, 104], 1, "fail"),
    granted("B", [103, 104], 2),
  ],
  [
    "a renewed lease and the one after it",
    granted("A", [0, 1], 1),
    renewed("A", [60, 61], 1),
    granted("B", [99, 170], 2, waits),
  ],
  ["shared holders", granted("A", [0, 1], 1, shared), granted("B", [2, 3], 2, shared)],
  ["a gap of tokens", granted("A", [0, 1], 1), released("A", [2, 3], 1), granted("B", [4, 5], 4)],
  ["a refusal by a holder", granted("A", [0, 1], 1), refused("B", [2, 3])],
  ["a refusal by a waiter", refused("B", [2, 3]), granted("A", [0, 10], 1, waits)],
  ["a refusal by a waiter that died", unanswered("A", 0, 50), refused("B", [40, 41])],
  [
    "a release of which nobody heard",
    granted("A", [0, 1], 1),
    released("A", [2, Infinity], 1, "unknown"),
    granted("B", [4, 5], 2),
  ],
  [
    "a release of which nobody heard and that did not happen",
    granted("A", [0, 1], 1),
    released("A", [2, Infinity], 1, "unknown"),
    refused("B", [4, 5]),
    granted("B", [101, 102], 2),
  ],
  [
    "a forced end",
    granted("A", [0, 1], 1),
    forced([2, 3], 1),
    renewed("A", [4, 5], 1, "fail"),
    granted("B", [4, 5], 2),
  ],
];

const impossible: readonly History[] = [
  ["two exclusive grants at once", granted("A", [0, 1], 1), granted("B", [2, 3], 2)],
  ["exclusive beside shared", granted("A", [0, 1], 1, shared), granted("B", [2, 3], 2)],
  ["the same token twice", granted("A", [0, 1], 1, shared), granted("B", [2, 3], 1, shared)],
  [
    "a token that goes back",
    granted("A", [0, 1], 2),
    released("A", [2, 3], 2),
    granted("B", [4, 5], 1),
  ],
  ["a refusal while the lock is free and nobody waits", refused("A", [0, 1])],
  [
    "a refusal after the release was told",
    granted("A", [0, 1], 1),
    released("A", [2, 3], 1),
    refused("B", [4, 5]),
  ],
  ["a refusal by a holder that came later", refused("B", [0, 1]), granted("A", [2, 3], 1)],
  ["a refusal of shared by shared", granted("A", [0, 1], 1, shared), refused("B", [2, 3], shared)],
  ["a refusal long after a waiter died", unanswered("A", 0, 50), refused("B", [60, 61])],
  [
    "a release that says it freed what another holds already",
    granted("A", [0, 1], 1),
    granted("B", [101, 102], 2),
    released("A", [103, 104], 1),
  ],
  [
    "a release that says it did not free, and the next grant before the end",
    granted("A", [0, 1], 1),
    released("A", [2, 3], 1, "fail"),
    granted("B", [4, 5], 2),
  ],
  [
    "a renewal of what another holds already",
    granted("A", [0, 1], 1),
    granted("B", [101, 102], 2),
    renewed("A", [103, 104], 1),
  ],
  ["a renewal lost before its end", granted("A", [0, 1], 1), renewed("A", [50, 51], 1, "fail")],
  [
    "a renewal after a forced end",
    granted("A", [0, 1], 1),
    forced([2, 3], 1),
    renewed("A", [4, 5], 1),
  ],
  ["a forced end that leaves a holder", granted("A", [0, 1], 1), forced([2, 3])],
  [
    "a grant inside a renewed lease",
    granted("A", [0, 1], 1),
    renewed("A", [60, 61], 1),
    granted("B", [110, 120], 2),
  ],
];

describe("the search for a linearization", () => {
  test.for(possible)("accepts %s", ([, ...calls]) => {
    expect(linearize(calls)).toMatchObject({ isLinearizable: true, stuck: [] });
  });

  test.for(impossible)("refuses %s", ([, ...calls]) => {
    const verdict = linearize(calls);
    expect(verdict.isLinearizable).toBe(false);
    expect(verdict.stuck.length).toBeGreaterThan(0);
  });

  test("judges each lock by itself", () => {
    const one = granted("A", [0, 1], 1);
    const other = { ...granted("B", [2, 3], 1), name: "other" };
    expect(linearize([one, other]).isLinearizable).toBe(true);
  });

  test("accepts every history that did happen, however its calls overlap [I32]", () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const verdict = linearize(randomHistory(seed, { calls: 300, clients: 2 + (seed % 7) }));
      expect({ seed, ...verdict }).toMatchObject({ isLinearizable: true });
    }
  });

  test("comes to the verdict of a search without shortcuts on short histories", () => {
    const verdicts = { right: 0, wrong: 0 };
    for (let seed = 1; seed <= 1_000; seed += 1) {
      const whole = randomHistory(seed, { calls: 7, clients: 3 });
      const how = wrongAnswers[seed % (2 * wrongAnswers.length)];
      const calls = (how && withWrongAnswer(whole, how, chanceOf(seed))) ?? whole;
      const isPlainly = isLinearizablePlainly(calls);
      expect({ seed, is: linearize(calls).isLinearizable }).toEqual({ seed, is: isPlainly });
      verdicts[isPlainly ? "right" : "wrong"] += 1;
    }
    expect(verdicts.right).toBeGreaterThan(400);
    expect(verdicts.wrong).toBeGreaterThan(200);
  });

  // What is left over happened within intervals in which the wrong answer could have been right.
  test.for([
    ["a refused try is granted", 0.95],
    ["a token goes back", 0.9],
    ["a refused renewal is accepted", 0.6],
    ["a renewal is lost", 0.5],
    ["a release that freed says that it did not", 0.9],
    ["a release is forgotten", 0.5],
    ["a granted call is refused", 0.9],
    ["a forced end leaves one out", 0.9],
  ] as const)("refuses most histories in which %s, at least a share of %d", ([how, rateMin]) => {
    const histories = Array.from({ length: 60 }, (_, seed) => {
      const calls = randomHistory(seed, { calls: 300, clients: 8 });
      return withWrongAnswer(calls, how, chanceOf(seed));
    }).filter((calls) => calls !== undefined);
    const refusals = histories.filter((calls) => !linearize(calls).isLinearizable);
    expect(histories.length).toBeGreaterThan(40);
    expect(refusals.length / histories.length).toBeGreaterThanOrEqual(rateMin);
  });

  test("takes tens of milliseconds for 1000 calls of 8 clients, and no more per call for 10 000", () => {
    const short = randomHistory(7, { calls: 1_000, clients: 8 });
    linearize(short);
    const before = process.cpuUsage();
    const { configurations } = linearize(short);
    // Time of the processor: the machine may be busy with other tests.
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(150);
    expect(configurations).toBeLessThan(2_000);
    const long = linearize(randomHistory(8, { calls: 10_000, clients: 8 }));
    expect(long.isLinearizable).toBe(true);
    expect(long.configurations).toBeLessThan(20_000);
  });
});
