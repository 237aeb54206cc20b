import type { FenceEntry, Fenced, FenceOptions } from "../core/fence/entry.ts";
import { checkFenced } from "../core/fence/entry-checks.ts";
import { decideFence, type FenceMarks } from "../core/fence/rule.ts";
import type { FencingToken } from "../core/scalars.ts";
import { InvalidArgumentError, StaleFenceError } from "../errors.ts";

/**
 * The columns of a row that carries its marks itself; integers that are NULL or 0 at first.
 *
 * `slots` names a column for each slot, slot 0 first; only rows that permits guard need them.
 */
export interface MarkColumns {
  readonly x: string;
  readonly s: string;
  readonly slots?: readonly string[] | undefined;
}

/** The parts of an UPDATE that compares and raises the marks of its row. */
export interface RowGuard {
  /** For the WHERE: `(coalesce("mark_x", 0) <= $fence_mark_x AND …)`. */
  readonly condition: string;
  /** For the SET: `"mark_x" = $fence_mark_x`. */
  readonly assignment: string;
  /** Named parameters of both texts: `{ $fence_mark_x: 7 }`. */
  readonly parameters: Readonly<Record<string, number>>;
  /**
   * Says why an UPDATE has changed no row. Takes the row as it stands, with its columns of marks:
   * throws `StaleFenceError` when these refuse the token, and returns when something else was in
   * the way, as when there is no such row.
   */
  check(row: unknown): void;
}

const identifier = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/u;

/**
 * The guard of a row that carries the marks of one name. Nothing but column names that were checked
 * gets into the texts; the token is a parameter.
 */
export function guardRow(fenced: Fenced, columns: MarkColumns, options: FenceOptions): RowGuard {
  const { fences } = checkFenced(fenced, options);
  const [entry, ...others] = fences;
  if (others.length > 0) {
    const rule = "must choose one name of the lease for the marks of a row";
    throw new InvalidArgumentError("names", options.names, rule);
  }
  const checked = checkColumns(columns);
  const parameter = `$fence_${checked.x}`;
  const { conditions, assignments } = textsOf(entry, checked, parameter);
  return {
    condition: `(${conditions.join(" AND ")})`,
    assignment: assignments.join(", "),
    parameters: { [parameter]: entry.token },
    check: (row) => {
      if (row === undefined || row === null) return;
      const verdict = decideFence(entry, marksIn(row, checked));
      if (verdict.kind === "refused") throw new StaleFenceError(verdict.stale);
    },
  };
}

interface Columns extends MarkColumns {
  readonly slots: readonly string[];
}

function checkColumns(columns: MarkColumns): Columns {
  if (typeof columns !== "object" || columns === null) {
    throw new InvalidArgumentError("columns", columns, "must be an object with x and s");
  }
  const { x, s, slots = [] } = columns;
  if (!Array.isArray(slots)) {
    throw new InvalidArgumentError("slots", slots, "must be a list of columns");
  }
  const named = [["x", x] as const, ["s", s] as const, ...slots.map((slot) => ["slots", slot])];
  for (const [parameter, column] of named as readonly (readonly [string, unknown])[]) {
    if (typeof column === "string" && identifier.test(column)) continue;
    const rule = "must be the name of a column: letters, digits and _, at most 63";
    throw new InvalidArgumentError(parameter, column, rule);
  }
  const all = named.map(([, column]) => String(column).toLowerCase());
  if (new Set(all).size === all.length) return { x, s, slots };
  throw new InvalidArgumentError("columns", columns, "must name different columns");
}

interface Texts {
  readonly conditions: readonly string[];
  readonly assignments: readonly string[];
}

function textsOf(entry: FenceEntry, { x, s, slots }: Columns, parameter: string): Texts {
  const isAtMost = (column: string): string => `${markOf(column)} <= ${parameter}`;
  const becomes = (column: string): string => `"${column}" = ${parameter}`;
  switch (entry.mode) {
    case "exclusive":
      return { conditions: [x, s].map(isAtMost), assignments: [becomes(x)] };
    case "shared":
      return {
        conditions: [isAtMost(x)],
        assignments: [`"${s}" = max(${markOf(s)}, ${parameter})`],
      };
    case "permits": {
      const held = (entry.slots ?? []).map((slot) => {
        const column = slots[slot];
        if (column !== undefined) return column;
        throw new InvalidArgumentError("slots", slots, `must have a column for slot ${slot}`);
      });
      return { conditions: [x, ...held].map(isAtMost), assignments: held.map(becomes) };
    }
  }
}

/** A mark that was never set is 0. */
function markOf(column: string): string {
  return `coalesce("${column}", 0)`;
}

function marksIn(row: unknown, { x, s, slots }: Columns): FenceMarks {
  const members = row as Readonly<Record<string, unknown>>;
  const read = (column: string): FencingToken => {
    const value = members[column];
    const mark = value === null ? 0 : Number(value);
    if (value !== undefined && Number.isSafeInteger(mark)) return mark;
    throw new InvalidArgumentError("row", value, `must hold a mark in its column ${column}`);
  };
  const ofSlots = slots.map((column, slot) => [slot, read(column)] as const);
  return { markX: read(x), markS: read(s), slots: Object.fromEntries(ofSlots) };
}
