import { InvalidArgumentError } from "../../errors.ts";
import { checkName } from "../name.ts";
import type { FencingToken } from "../scalars.ts";
import type { FenceEntry, FenceOptions } from "./entry.ts";

/** What was shown to a guard, checked: one entry or more. */
export interface CheckedFences {
  readonly namespace: string;
  readonly fences: FirstAndOthers;
}

type FirstAndOthers = readonly [FenceEntry, ...FenceEntry[]];

/** Most entries that a guard accepts at once. */
const entriesMax = 100_000;
/** Most slots of one entry. */
const slotsMax = 10_000;
/** Highest number of a slot. */
const slotMax = 2 ** 31 - 1;

/**
 * The entries that matter, after everything about them was checked. Whoever shows no token is
 * refused here, before anything is read or written (L68).
 */
export function checkFenced(fenced: unknown, options: FenceOptions = {}): CheckedFences {
  const { namespace, fences } = membersOf("lease", fenced);
  const checkedNamespace = checkName("namespace", namespace);
  if (!Array.isArray(fences) || fences.length === 0 || fences.length > entriesMax) {
    const rule = `must be a list of 1 to ${entriesMax} fences; a guarded resource needs a token`;
    throw new InvalidArgumentError("fences", fences, rule, { limit: entriesMax });
  }
  const entries = Array.from<unknown, FenceEntry>(fences, checkEntry);
  const repeated = firstRepeated(entries.map(({ name }) => name));
  if (repeated !== undefined) {
    throw new InvalidArgumentError("fences", repeated, "must hold each name once");
  }
  // Neither list is empty: that was refused.
  const shown = chosen(entries, options) as unknown as FirstAndOthers;
  return { namespace: checkedNamespace, fences: shown };
}

function checkEntry(value: unknown, position: number): FenceEntry {
  const { name, mode, token, slots } = membersOf("fences", value, position);
  const checked = { name: checkName("fences", name, position), token: checkToken(token, position) };
  if (mode === "permits") return { ...checked, mode, slots: checkSlots(slots, position) };
  if (mode !== "exclusive" && mode !== "shared") {
    const rule = 'must be "exclusive", "shared" or "permits"';
    throw new InvalidArgumentError("mode", mode, rule, { position });
  }
  if (slots !== undefined) {
    throw new InvalidArgumentError("slots", slots, 'belong to mode "permits"', { position });
  }
  return { ...checked, mode };
}

function checkToken(value: unknown, position: number): FencingToken {
  if (Number.isSafeInteger(value) && (value as number) >= 1) return value as number;
  throw new InvalidArgumentError("token", value, "must be an integer from 1 on", { position });
}

function checkSlots(value: unknown, position: number): readonly number[] {
  const slots: readonly unknown[] = Array.isArray(value) ? value : [];
  const isRight = slots.every((slot) => Number.isInteger(slot) && isSlot(slot as number));
  const isWhole = slots.length > 0 && slots.length <= slotsMax;
  if (isRight && isWhole && firstRepeated(slots) === undefined) return slots as readonly number[];
  const rule = `must be 1 to ${slotsMax} different integers from 0 to ${slotMax}`;
  throw new InvalidArgumentError("slots", value, rule, { position, limit: slotsMax });
}

function isSlot(slot: number): boolean {
  return slot >= 0 && slot <= slotMax;
}

function chosen(entries: readonly FenceEntry[], options: FenceOptions): readonly FenceEntry[] {
  const known = membersOf("options", options);
  for (const [option, value] of Object.entries(known)) {
    if (option === "names") continue;
    throw new InvalidArgumentError(option, value, "is not an option of a guard");
  }
  const { names } = options;
  if (names === undefined) return entries;
  if (!Array.isArray(names) || names.length === 0) {
    throw new InvalidArgumentError("names", names, "must be a list of one name or more");
  }
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  return [...new Set<unknown>(names)].map((name) => {
    const entry = byName.get(name as string);
    if (entry !== undefined) return entry;
    throw new InvalidArgumentError("names", name, "must name fences of the lease");
  });
}

function membersOf(
  parameter: string,
  value: unknown,
  position?: number,
): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  const more = position === undefined ? {} : { position };
  throw new InvalidArgumentError(parameter, value, "must be an object", more);
}

function firstRepeated<Value>(values: readonly Value[]): Value | undefined {
  const seen = new Set<Value>();
  return values.find((value) => seen.size === seen.add(value).size);
}
