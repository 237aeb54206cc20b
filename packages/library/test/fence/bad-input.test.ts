import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Fenced } from "../../src/core/fence/entry.ts";
import { MemoryFence, SqliteFence } from "../../src/fence/index.ts";
import { rejection } from "../scenarios/settling.ts";
import { exclusive, fenced, permits, shared } from "./forms.ts";

/** A value, the parameter that its refusal names, and why it is wrong. */
type BadRow = readonly [string, unknown, string];

function withEntry(entry: unknown): unknown {
  return { namespace: "default", fences: [exclusive(1, "right"), entry] };
}

const badFenced: readonly BadRow[] = [
  ["nothing", undefined, "lease"],
  ["null", null, "lease"],
  ["a text", "lease", "lease"],
  ["a list", [], "lease"],
  ["no namespace", { fences: [exclusive(1)] }, "namespace"],
  ["a wrong namespace", { namespace: "a\nb", fences: [exclusive(1)] }, "namespace"],
  ["no fences", { namespace: "default" }, "fences"],
  ["an empty list", { namespace: "default", fences: [] }, "fences"],
  ["a hole", { namespace: "default", fences: Array.from({ length: 1 }) }, "fences"],
  ["too many", { namespace: "default", fences: Array(100_001).fill(exclusive(1)) }, "fences"],
  ["a name twice", fenced(exclusive(1), shared(2)), "fences"],
  ["an entry that is no object", withEntry("n"), "fences"],
  ["an entry without a name", withEntry({ mode: "shared", token: 1 }), "fences"],
  ["an entry with a wrong name", withEntry({ ...exclusive(1), name: "" }), "fences"],
  ["an entry without a token", withEntry({ name: "n", mode: "exclusive" }), "token"],
  ["a token of null", withEntry({ ...exclusive(1), token: null }), "token"],
  ["a token as text", withEntry({ ...exclusive(1), token: "7" }), "token"],
  ["token 0", withEntry({ ...exclusive(1), token: 0 }), "token"],
  ["a token with a fraction", withEntry({ ...exclusive(1), token: 1.5 }), "token"],
  ["a token beyond 2^53-1", withEntry({ ...exclusive(1), token: 2 ** 53 }), "token"],
  ["an entry without a mode", withEntry({ name: "n", token: 1 }), "mode"],
  ["an unknown mode", withEntry({ ...exclusive(1), mode: "x" }), "mode"],
  ["slots of an exclusive entry", withEntry({ ...exclusive(1), slots: [0] }), "slots"],
  ["permits without slots", withEntry({ name: "n", mode: "permits", token: 1 }), "slots"],
  ["permits with no slot", withEntry(permits(1, [])), "slots"],
  ["a slot twice", withEntry(permits(1, [2, 2])), "slots"],
  ["a slot below 0", withEntry(permits(1, [-1])), "slots"],
  ["a slot with a fraction", withEntry(permits(1, [0.5])), "slots"],
];

const badOptions: readonly BadRow[] = [
  ["null", null, "options"],
  ["an unknown option", { name: "n" }, "name"],
  ["names that are no list", { names: "n" }, "names"],
  ["no names", { names: [] }, "names"],
  ["a name that the lease does not have", { names: ["n", "m"] }, "names"],
];

const badColumns: readonly BadRow[] = [
  ["nothing", undefined, "columns"],
  ["no x", { s: "mark_s" }, "x"],
  ["no s", { x: "mark_x" }, "s"],
  ["a quote", { x: 'mark_x" = 0 --', s: "mark_s" }, "x"],
  ["a statement", { x: "mark_x", s: "s; DROP TABLE stock" }, "s"],
  ["an expression", { x: "mark_x", s: "0*mark_s" }, "s"],
  ["a dot", { x: "stock.mark_x", s: "mark_s" }, "x"],
  ["no text", { x: "mark_x", s: 7 }, "s"],
  ["the empty text", { x: "", s: "mark_s" }, "x"],
  ["a letter of another script", { x: "märk", s: "mark_s" }, "x"],
  ["a line break at the end", { x: "mark_x\n", s: "mark_s" }, "x"],
  ["a very long name", { x: "x".repeat(64), s: "mark_s" }, "x"],
  ["one column twice", { x: "mark", s: "MARK" }, "columns"],
  ["slots that are no list", { x: "mark_x", s: "mark_s", slots: "slot_0" }, "slots"],
  ["a wrong slot", { x: "mark_x", s: "mark_s", slots: ["slot 0"] }, "slots"],
];

function refusalOf(parameter: string): unknown {
  return expect.objectContaining({ code: "INVALID_ARGUMENT", parameter, retry: "change" });
}

describe("what no guard accepts", () => {
  const database = new DatabaseSync(":memory:");
  const table = new SqliteFence(database);
  const memory = new MemoryFence();

  beforeAll(() => database.exec("BEGIN"));
  afterAll(() => database.close());

  /** Nothing has reached the marks. */
  function expectUntouched(): void {
    const { rows } = database.prepare("SELECT count(*) AS rows FROM leasehold_fence").get() as {
      rows: number;
    };
    expect(rows).toBe(0);
    expect(memory.marks("default", "right").markX).toBe(0);
  }

  test.each(badFenced)("%s is refused, nothing raised [L68]", async (_, value, parameter) => {
    const given = value as Fenced;
    const refusal = refusalOf(parameter);
    const columns = { x: "mark_x", s: "mark_s" };
    expect(() => table.guard(given)).toThrow(refusal);
    expect(() => table.guarded(given, {}, () => 1)).toThrow(refusal);
    expect(() => table.where(given, columns)).toThrow(refusal);
    expect(() => memory.guard(given)).toThrow(refusal);
    expect(() => memory.guarded(given, {}, () => 1)).toThrow(refusal);
    expect(await rejection(table.install(given))).toEqual(refusal);
    expect(await rejection(memory.install(given))).toEqual(refusal);
    expectUntouched();
  });

  test.each(badOptions)("options: %s is refused, nothing raised", (_, value, parameter) => {
    const options = value as object;
    const lease = fenced(exclusive(1), exclusive(1, "right"));
    expect(() => table.guard(lease, options)).toThrow(refusalOf(parameter));
    expect(() => table.guarded(lease, options, () => 1)).toThrow(refusalOf(parameter));
    expect(() => memory.guard(lease, options)).toThrow(refusalOf(parameter));
    expect(() => memory.guarded(lease, options, () => 1)).toThrow(refusalOf(parameter));
    expectUntouched();
  });

  test.each(badColumns)("columns: %s is refused, no text is made", (_, value, parameter) => {
    const refusal = refusalOf(parameter);
    expect(() => table.where(fenced(exclusive(1)), value as never)).toThrow(refusal);
  });

  test("a row guards one name, and permits need a column for each slot", () => {
    const columns = { x: "mark_x", s: "mark_s", slots: ["slot_0"] };
    const two = fenced(exclusive(1, "a"), exclusive(1, "b"));
    expect(() => table.where(two, columns)).toThrow(refusalOf("names"));
    expect(() => table.where(two, columns, { names: ["a", "b"] })).toThrow(refusalOf("names"));
    expect(() => table.where(fenced(permits(1, [1])), columns)).toThrow(refusalOf("slots"));
  });

  const work = [undefined, "work", async () => 1];
  test.each(work)("work that is %s is refused before it runs", (value) => {
    expect(() => table.guarded(fenced(exclusive(1)), {}, value as never)).toThrow(
      refusalOf("work"),
    );
    expect(() => memory.guarded(fenced(exclusive(1)), {}, value as never)).toThrow(
      refusalOf("work"),
    );
    expectUntouched();
  });

  test("what is no database is refused", () => {
    for (const value of [undefined, null, {}, "data.db", { exec: () => undefined }]) {
      expect(() => new SqliteFence(value as never)).toThrow(refusalOf("database"));
    }
  });

  test("marks are asked for by right names only", () => {
    for (const fence of [table, memory]) {
      expect(() => fence.marks("", "n")).toThrow(refusalOf("namespace"));
      expect(() => fence.marks("default", "a\tb")).toThrow(refusalOf("name"));
    }
  });
});
