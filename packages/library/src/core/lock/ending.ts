import { isBlocking } from "./blocking.ts";
import type { LockDraft } from "./draft.ts";
import { removeTicket } from "./queue.ts";
import { endForOthers, isLiveForHolder } from "./validity.ts";

/** The first steps of the advance: what they end, or find over, is noted for the walk. */
export function endOver(draft: LockDraft): void {
  rebaseEnds(draft);
  withdrawUnconfirmed(draft);
  dropUpgrades(draft);
  for (const grant of draft.grants) {
    if (isBlocking(draft, grant)) continue;
    draft.stirBy(grant.mode);
    draft.hasFreedHolder = true;
  }
}

/** An end further away than its own span is set to now + span: engine time stepped back (L55). */
function rebaseEnds(draft: LockDraft): void {
  const { now, scope } = draft;
  for (const grant of draft.grants) {
    if (grant.expiresAt <= now + grant.spanMs + scope.clockErrorMs) continue;
    draft.replaceGrant(grant.id, { ...grant, expiresAt: now + grant.spanMs });
  }
}

/** Ends the pending grants that nobody confirmed in time (L24). */
function withdrawUnconfirmed(draft: LockDraft): void {
  const { now, scope } = draft;
  const over = draft.grants.filter(
    (grant) => grant.state === "pending" && now >= endForOthers(grant, scope.clockErrorMs),
  );
  for (const grant of over) draft.endGrant(grant, "withdrawn");
}

/** An upgrade is wished for no longer than its lease lives (section 6.1). */
function dropUpgrades(draft: LockDraft): void {
  const [head] = draft.queue;
  if (head?.upgrades === undefined) return;
  if (hasLiveLease(draft, head.upgrades)) return;
  removeTicket(draft, { ticket: head, page: null, position: 0 });
}

/** Whether the lease of an id may still act. */
export function hasLiveLease(draft: LockDraft, id: string): boolean {
  const lease = draft.grants.find((grant) => grant.id === id);
  return lease !== undefined && isLiveForHolder(lease, draft.now);
}
