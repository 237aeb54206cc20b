import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { FenceEntry } from "../../src/core/fence/entry.ts";
import { decideFence, decideFences, noMarks } from "../../src/core/fence/rule.ts";
import type { FenceMarks } from "../../src/core/fence/rule.ts";
import { exclusive, permits, shared } from "./forms.ts";

interface Row {
  readonly entry: FenceEntry;
  readonly marks: FenceMarks;
  /** The marks afterwards, or null for a refusal. */
  readonly after: FenceMarks | null;
}

function at(markX: number, markS: number, slots: FenceMarks["slots"] = {}): FenceMarks {
  return { markX, markS, slots };
}

const rows: readonly Row[] = [
  { entry: exclusive(1), marks: noMarks, after: at(1, 0) },
  { entry: exclusive(5), marks: at(4, 4), after: at(5, 4) },
  { entry: exclusive(5), marks: at(5, 5), after: at(5, 5) },
  { entry: exclusive(5), marks: at(6, 0), after: null },
  { entry: exclusive(5), marks: at(0, 6), after: null },
  { entry: exclusive(5), marks: at(6, 6), after: null },
  { entry: shared(1), marks: noMarks, after: at(0, 1) },
  { entry: shared(5), marks: at(4, 4), after: at(4, 5) },
  { entry: shared(5), marks: at(5, 4), after: at(5, 5) },
  { entry: shared(5), marks: at(4, 9), after: at(4, 9) },
  { entry: shared(5), marks: at(6, 4), after: null },
  { entry: permits(1, [0]), marks: noMarks, after: at(0, 0, { 0: 1 }) },
  { entry: permits(5, [1]), marks: at(0, 0, { 0: 9 }), after: at(0, 0, { 0: 9, 1: 5 }) },
  { entry: permits(5, [0]), marks: at(5, 9, { 0: 5 }), after: at(5, 9, { 0: 5 }) },
  { entry: permits(5, [0]), marks: at(0, 0, { 0: 6 }), after: null },
  { entry: permits(5, [0]), marks: at(6, 0), after: null },
  { entry: permits(5, [0, 2]), marks: at(0, 0, { 2: 6 }), after: null },
  { entry: permits(7, [0, 2]), marks: at(0, 0, { 2: 6 }), after: at(0, 0, { 0: 7, 2: 7 }) },
];

describe("the table of section 9 [L67]", () => {
  test.each(rows)("$entry.mode $entry.token over $marks gives $after [L67]", (row) => {
    const verdict = decideFence(row.entry, row.marks);
    const marks = verdict.kind === "accepted" ? verdict.marks : null;
    expect(marks).toEqual(row.after);
  });

  test("a refusal tells the token, and for permits the mark of their slots [L70]", () => {
    const over = decideFence(exclusive(5), at(6, 2));
    const facts = { lock: "n", mode: "exclusive", token: 5, markX: 6, markS: 2 };
    expect(over).toEqual({ kind: "refused", stale: facts });
    const inSlot = decideFence(permits(5, [0, 1]), at(3, 0, { 0: 4, 1: 8, 2: 99 }));
    expect(inSlot).toMatchObject({ stale: { mode: "permits", token: 5, markX: 8 } });
  });

  test("no mark is ever lowered, and what was accepted is accepted again [L67]", () => {
    const token = fc.integer({ min: 1, max: 9 });
    const mark = fc.nat(9);
    const entry = fc.oneof(
      token.map((each) => exclusive(each)),
      token.map((each) => shared(each)),
      fc.tuple(token, fc.subarray([0, 1, 2], { minLength: 1 })).map(([t, s]) => permits(t, s)),
    );
    const marks = fc
      .tuple(mark, mark, mark, mark)
      .map(([x, s, zero, one]) => at(x, s, { 0: zero, 1: one }));
    fc.assert(
      fc.property(entry, marks, (each, before) => {
        const verdict = decideFence(each, before);
        fc.pre(verdict.kind === "accepted");
        const { marks: after } = verdict;
        expect(after.markX).toBeGreaterThanOrEqual(before.markX);
        expect(after.markS).toBeGreaterThanOrEqual(before.markS);
        for (const slot of [0, 1, 2]) {
          expect(after.slots[slot] ?? 0).toBeGreaterThanOrEqual(before.slots[slot] ?? 0);
        }
        expect(decideFence(each, after)).toEqual({ kind: "accepted", marks: after });
      }),
    );
  });
});

describe("several entries", () => {
  const known: Readonly<Record<string, FenceMarks>> = { a: at(1, 0), b: at(9, 0), c: at(0, 8) };
  const marksOf = ({ name }: FenceEntry): FenceMarks => known[name] ?? noMarks;

  test("all pass, each with its own marks [L69]", () => {
    const verdict = decideFences([exclusive(2, "a"), shared(9, "b")], marksOf);
    expect(verdict).toEqual({
      kind: "accepted",
      passed: [
        { entry: exclusive(2, "a"), before: at(1, 0), after: at(2, 0) },
        { entry: shared(9, "b"), before: at(9, 0), after: at(9, 9) },
      ],
    });
  });

  test("one that is stale refuses all, and every stale one is told [L69]", () => {
    const verdict = decideFences([exclusive(2, "a"), shared(2, "b"), exclusive(2, "c")], marksOf);
    expect(verdict).toMatchObject({
      kind: "refused",
      stale: [
        { lock: "b", markX: 9 },
        { lock: "c", markS: 8 },
      ],
    });
    expect(verdict).not.toHaveProperty("passed");
  });
});
