import type { LockDraft } from "./draft.ts";
import type { Grant } from "./record.ts";
import { blocksUntil, conflicts, type Asked } from "./validity.ts";

/** Whether a grant keeps others out: it is live, or inside its lock-delay (6.2). */
export function isBlocking(draft: LockDraft, grant: Grant): boolean {
  return draft.now < blocksUntil(grant, draft.scope.clockErrorMs);
}

/** The grants that keep a request out, live ones and those inside their lock-delay. */
export function blockersOf(draft: LockDraft, asked: Asked): readonly Grant[] {
  const blocking = draft.grants.filter((grant) => isBlocking(draft, grant));
  if (asked.permits !== undefined) {
    const free = (draft.limit ?? 0) - permitsOf(blocking);
    return asked.permits > free ? blocking : [];
  }
  if (asked.upgrades !== undefined) return blocking.filter(({ id }) => id !== asked.upgrades);
  return blocking.filter((grant) => conflicts(grant.mode, asked.mode));
}

function permitsOf(grants: readonly Grant[]): number {
  return grants.reduce((sum, { permits = 0 }) => sum + permits, 0);
}

/** Whether one more grant would pass the holder limit (L134); an upgrade adds none. */
export function isAtHolderLimit(draft: LockDraft, asked?: Asked): boolean {
  if (asked?.upgrades !== undefined) return false;
  const { length } = draft.grants.filter((grant) => isBlocking(draft, grant));
  return length >= draft.scope.holdersMax;
}
