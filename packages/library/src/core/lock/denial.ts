import type { EpochMs } from "../scalars.ts";
import { blockersOf, isAtHolderLimit } from "./blocking.ts";
import type { LockDraft } from "./draft.ts";
import type { Grant } from "./record.ts";
import { blocksUntil, endForOthers, type Asked } from "./validity.ts";
import { holdersShownMax, type Denial, type HolderView } from "./views.ts";

/** Whether a newcomer would pass an earlier ticket (L18, L134). Asked after a walk. */
function isQueueAhead(draft: LockDraft, { mode }: Asked): boolean {
  if (draft.depth === 0) return false;
  if (mode === "exclusive" || (draft.pages?.exclusive ?? 0) > 0) return true;
  return draft.queue.some((ticket) => ticket.mode === "exclusive" || ticket.limited === true);
}

/** Whether a newcomer is grantable on the lock as the walk left it (6.2). */
export function isGrantable(draft: LockDraft, asked: Asked): boolean {
  if (isQueueAhead(draft, asked) || isAtHolderLimit(draft)) return false;
  return blockersOf(draft, asked).length === 0;
}

/** Whether nothing but the holder limit keeps a newcomer out (L134). */
export function isOnlyLimited(draft: LockDraft, asked: Asked): boolean {
  if (isQueueAhead(draft, asked) || !isAtHolderLimit(draft)) return false;
  return blockersOf(draft, asked).length === 0;
}

/**
 * The denial of a request, `position` being its place in the queue or null. The ends
 * that keep it out are what the decision relied on.
 */
export function denialOf(draft: LockDraft, asked: Asked, position: number | null): Denial {
  const blockers = blockersOf(draft, asked);
  for (const grant of blockers) draft.relyOn(blocksUntil(grant, draft.scope.clockErrorMs));
  const shown = blockers.length > 0 ? blockers : draft.grants;
  return {
    name: draft.name,
    reason: reasonOf(draft, blockers),
    holders: shown.slice(0, holdersShownMax).map((grant) => holderView(draft, grant)),
    until: lastEnd(blockers),
    position,
    depth: draft.depth,
    now: draft.now,
  };
}

/** Instant at which the last grant that keeps such a request out is over for others. */
export function expectedEnd(draft: LockDraft, asked: Asked): EpochMs | null {
  const ends = blockersOf(draft, asked).map((grant) =>
    blocksUntil(grant, draft.scope.clockErrorMs),
  );
  return ends.length === 0 ? null : Math.max(...ends);
}

interface Scene {
  readonly now: EpochMs;
  readonly scope: { readonly clockErrorMs: number };
}

/** A grant as others may see it: everything but its id (L66). */
export function holderView(scene: Scene, grant: Grant): HolderView {
  const { owner, actor, mode, token, grantedAt, expiresAt, kind, note, value, permits } = grant;
  return {
    owner,
    actor,
    mode,
    token,
    since: grantedAt,
    expiresAt,
    kind,
    state: viewState(scene, grant),
    ...(note === undefined ? {} : { note }),
    ...(value === undefined ? {} : { value }),
    ...(grant.for === undefined ? {} : { for: grant.for }),
    ...(permits === undefined ? {} : { permits }),
  };
}

function viewState({ now, scope }: Scene, grant: Grant): HolderView["state"] {
  if (grant.forced === undefined && now < endForOthers(grant, scope.clockErrorMs)) {
    return grant.state;
  }
  return now < blocksUntil(grant, scope.clockErrorMs) ? "delayed" : "lapsed";
}

function reasonOf(draft: LockDraft, blockers: readonly Grant[]): Denial["reason"] {
  if (blockers.length > 0) {
    const isAnyLive = blockers.some((grant) => viewState(draft, grant) !== "delayed");
    return isAnyLive ? "held" : "delayed";
  }
  const hasExclusive =
    (draft.pages?.exclusive ?? 0) > 0 || draft.queue.some(({ mode }) => mode === "exclusive");
  return !hasExclusive && isAtHolderLimit(draft) ? "limit" : "queued";
}

function lastEnd(grants: readonly Grant[]): EpochMs | null {
  if (grants.length === 0) return null;
  return Math.max(...grants.map((grant) => grant.expiresAt + grant.lockDelayMs));
}
