import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Fenced } from "../../src/core/fence/entry.ts";
import { SqliteFence } from "../../src/fence/index.ts";
import { exclusive, fenced, permits, Scratch, shared } from "./forms.ts";

const stale = expect.objectContaining({ code: "STALE_FENCE" });

let scratch: Scratch;
let fence: SqliteFence;

beforeEach(() => {
  scratch = new Scratch();
  // "order" is a word of SQL, and a right name of a column all the same.
  scratch.database.exec(
    `CREATE TABLE stock (sku PRIMARY KEY, amount, "order" INTEGER, mark_s INTEGER,
       owner_x INTEGER, owner_s INTEGER)`,
  );
  scratch.database.exec("INSERT INTO stock (sku, amount) VALUES ('a', 10), ('b', 10)");
  fence = new SqliteFence(scratch.database);
});
afterEach(() => scratch.close());

const columns = { x: "order", s: "mark_s" };
const ofOwner = { x: "owner_x", s: "owner_s" };

function row(sku: string): Record<string, unknown> | undefined {
  return scratch.database.prepare("SELECT * FROM stock WHERE sku = ?").get(sku);
}

function setAmount(lease: Fenced, sku: string, amount: number): number {
  const own = fence.where(lease, columns);
  const text = `UPDATE stock SET amount = ?, ${own.assignment} WHERE sku = ? AND ${own.condition}`;
  const { changes } = scratch.database.prepare(text).run(own.parameters, amount, sku);
  if (changes === 0) own.check(row(sku));
  return Number(changes);
}

function put(token: number, amount: number): number {
  const own = fence.where(fenced(exclusive(token)), columns);
  const text = `INSERT INTO stock (sku, amount, "order") VALUES ('new', ?, $fence_order)
    ON CONFLICT (sku) DO UPDATE SET amount = excluded.amount, ${own.assignment}
    WHERE ${own.condition}`;
  return Number(scratch.database.prepare(text).run(own.parameters, amount).changes);
}

describe("a row that carries its marks", () => {
  test("the texts hold columns and one parameter, and no value", () => {
    expect(fence.where(fenced(exclusive(7)), columns)).toMatchObject({
      condition: '(coalesce("order", 0) <= $fence_order AND coalesce("mark_s", 0) <= $fence_order)',
      assignment: '"order" = $fence_order',
      parameters: { $fence_order: 7 },
    });
    expect(fence.where(fenced(shared(7)), columns)).toMatchObject({
      condition: '(coalesce("order", 0) <= $fence_order)',
      assignment: '"mark_s" = max(coalesce("mark_s", 0), $fence_order)',
    });
    const slots = { ...columns, slots: ["slot_0", "slot_1", "slot_2"] };
    expect(fence.where(fenced(permits(7, [2, 0])), slots)).toMatchObject({
      condition:
        '(coalesce("order", 0) <= $fence_order AND coalesce("slot_2", 0) <= $fence_order' +
        ' AND coalesce("slot_0", 0) <= $fence_order)',
      assignment: '"slot_2" = $fence_order, "slot_0" = $fence_order',
    });
  });

  test("an older token changes no row and is told why [L70]", () => {
    expect(setAmount(fenced(exclusive(2)), "a", 9)).toBe(1);
    const facts = { lock: "n", mode: "exclusive", token: 1, markX: 2, markS: 0 };
    expect(() => setAmount(fenced(exclusive(1)), "a", 1)).toThrow(
      expect.objectContaining({ code: "STALE_FENCE", ...facts }),
    );
    expect(row("a")).toMatchObject({ amount: 9, order: 2, mark_s: null });
    // Each row has marks of its own.
    expect(setAmount(fenced(exclusive(1)), "b", 8)).toBe(1);
  });

  test("a row that is not there is no matter of the fence", () => {
    expect(setAmount(fenced(exclusive(1)), "c", 1)).toBe(0);
  });

  test("a row without its marks cannot be judged", () => {
    const own = fence.where(fenced(exclusive(1)), columns);
    const misuse = expect.objectContaining({ code: "INVALID_ARGUMENT", parameter: "row" });
    expect(() => own.check({ order: 1 })).toThrow(misuse);
    expect(() => own.check({ order: "many", mark_s: 0 })).toThrow(misuse);
    expect(() => own.check({ order: 2n, mark_s: null })).toThrow(stale);
    own.check(null);
  });

  test("several names in one UPDATE pass together or not at all [L69]", () => {
    const write = (lease: Fenced, amount: number): void => {
      const own = fence.where(lease, columns, { names: ["n"] });
      const above = fence.where(lease, ofOwner, { names: ["owner"] });
      const text = `UPDATE stock SET amount = ?, ${own.assignment}, ${above.assignment}
        WHERE sku = 'a' AND ${own.condition} AND ${above.condition}`;
      const parameters = { ...own.parameters, ...above.parameters };
      const { changes } = scratch.database.prepare(text).run(parameters, amount);
      if (changes > 0) return;
      own.check(row("a"));
      above.check(row("a"));
    };
    write(fenced(exclusive(3), shared(8, "owner")), 5);
    expect(() => write(fenced(exclusive(4), exclusive(7, "owner")), 4)).toThrow(
      expect.objectContaining({ code: "STALE_FENCE", lock: "owner", markS: 8 }),
    );
    expect(row("a")).toMatchObject({ amount: 5, order: 3, owner_s: 8, owner_x: null });
  });

  test("an UPSERT keeps the guard", () => {
    expect([put(2, 5), put(1, 6), put(3, 7)]).toEqual([1, 0, 1]);
    expect(row("new")).toMatchObject({ amount: 7, order: 3 });
  });
});
