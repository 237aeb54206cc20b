import type { FenceEntry, Fenced } from "../../src/core/fence/entry.ts";

/** Something that was asked of a resource, and whether it was let in. */
export interface Asked {
  readonly fenced: Fenced;
  readonly isAccepted: boolean;
}

/** Whether holders with these entries may never be at work together. */
function conflict(one: FenceEntry, other: FenceEntry): boolean {
  if (one.name !== other.name) return false;
  if (one.mode === "permits" && other.mode === "permits") {
    return (one.slots ?? []).some((slot) => other.slots?.includes(slot));
  }
  return one.mode === "exclusive" || other.mode === "exclusive";
}

/**
 * The first thing in a history that breaks I26, or null. Written from the sentence of the
 * specification and not from the rule: what was accepted and conflicts has the order of its tokens,
 * and who was refused had a newer one against it. No name is used by permits and by other modes.
 */
export function brokenOrder(history: readonly Asked[]): string | null {
  const accepted: FenceEntry[] = [];
  for (const [place, { fenced, isAccepted }] of history.entries()) {
    const late = fenced.fences.find((entry) =>
      accepted.some((earlier) => conflict(earlier, entry) && earlier.token > entry.token),
    );
    if (isAccepted && late !== undefined) {
      return `I26: ${place}: ${late.mode} ${late.token} of ${late.name} was accepted too late`;
    }
    if (!isAccepted && late === undefined) return `I26: ${place}: refused, and nobody is newer`;
    if (isAccepted) accepted.push(...fenced.fences);
  }
  return null;
}
