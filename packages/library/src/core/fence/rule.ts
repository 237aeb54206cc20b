import type { StaleFenceFacts } from "../../errors.ts";
import type { FencingToken } from "../scalars.ts";
import type { FenceEntry } from "./entry.ts";

/**
 * What a resource remembers of one name: the highest token that it accepted, by kind of holder. A
 * mark that is 0 was never raised, and no mark is ever lowered.
 *
 * `markX` is the highest token of an exclusive holder, and `markS` that of a shared one. A slot
 * needs one mark of its own and no more: it has one holder at a time, so nobody shares it. The name
 * has no mark that permits raise, because holders of different slots work side by side and would
 * fence each other through it (L67). They are compared with `markX` of the name, so that one
 * exclusive token bars all slots.
 *
 * `slots` holds only those that were ever used: `{ 0: 7, 3: 9 }`.
 */
export interface FenceMarks {
  readonly markX: FencingToken;
  readonly markS: FencingToken;
  readonly slots: Readonly<Record<number, FencingToken>>;
}

export const noMarks: FenceMarks = Object.freeze({
  markX: 0,
  markS: 0,
  slots: Object.freeze({}),
});

export type FenceVerdict =
  | { readonly kind: "accepted"; readonly marks: FenceMarks }
  | { readonly kind: "refused"; readonly stale: StaleFenceFacts };

/**
 * Whether a holder with this entry may still touch the resource, and the marks from then on; the
 * table of docs/spec/locks.md section 9 (L67). Equal tokens are accepted: they are the same holder.
 */
export function decideFence(entry: FenceEntry, marks: FenceMarks): FenceVerdict {
  const { token } = entry;
  const { markX, markS } = marks;
  switch (entry.mode) {
    case "exclusive":
      if (token < markX || token < markS) return refused(entry, markX, markS);
      return { kind: "accepted", marks: { ...marks, markX: token } };
    case "shared":
      if (token < markX) return refused(entry, markX, markS);
      return { kind: "accepted", marks: { ...marks, markS: Math.max(markS, token) } };
    case "permits": {
      const held = entry.slots ?? [];
      const highest = held.reduce((most, slot) => Math.max(most, marks.slots[slot] ?? 0), markX);
      if (token < highest) return refused(entry, highest, markS);
      const raised = Object.fromEntries(held.map((slot) => [slot, token]));
      return { kind: "accepted", marks: { ...marks, slots: { ...marks.slots, ...raised } } };
    }
  }
}

function refused(entry: FenceEntry, markX: FencingToken, markS: FencingToken): FenceVerdict {
  const { name: lock, mode, token } = entry;
  return { kind: "refused", stale: { lock, mode, token, markX, markS } };
}

/** An entry that passed, with the marks of its name before and after. */
export interface PassedEntry {
  readonly entry: FenceEntry;
  readonly before: FenceMarks;
  readonly after: FenceMarks;
}

export type FencesVerdict =
  | { readonly kind: "accepted"; readonly passed: readonly PassedEntry[] }
  | { readonly kind: "refused"; readonly stale: StaleEntries };

/** The entries that were refused, one or more. */
export type StaleEntries = readonly [StaleFenceFacts, ...StaleFenceFacts[]];

/**
 * The verdict over several entries of different names: all pass, or no mark is raised (L69).
 *
 * `marksOf` gives the marks of an entry's name; for permits it may leave out slots that the entry
 * does not hold. A refusal tells every entry that is stale, in their order.
 */
export function decideFences(
  entries: readonly FenceEntry[],
  marksOf: (entry: FenceEntry) => FenceMarks,
): FencesVerdict {
  const passed: PassedEntry[] = [];
  const stale: StaleFenceFacts[] = [];
  for (const entry of entries) {
    const before = marksOf(entry);
    const verdict = decideFence(entry, before);
    if (verdict.kind === "refused") stale.push(verdict.stale);
    else passed.push({ entry, before, after: verdict.marks });
  }
  const [first, ...others] = stale;
  if (first !== undefined) return { kind: "refused", stale: [first, ...others] };
  return { kind: "accepted", passed };
}
