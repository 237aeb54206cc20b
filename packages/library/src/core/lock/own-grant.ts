import type { DecisionDraft } from "./draft.ts";
import type { LockDraft } from "./draft.ts";
import { batchFacts, type GrantFacts } from "./facts.ts";
import type { Grant } from "./record.ts";
import { isLiveForHolder } from "./validity.ts";

/**
 * What a decision may do to a grant for the one who holds its id. Whatever it answers is written,
 * even unchanged, so that an earlier request still under way meets another revision (L128).
 */

export function grantOf(draft: LockDraft, id: string): Grant | undefined {
  return draft.grants.find((grant) => grant.id === id);
}

/**
 * The grant of an attempt of the deciding space; not one that is barred or was taken over (L130).
 */
export function ownGrantOf(draft: LockDraft, id: string): Grant | undefined {
  const grant = grantOf(draft, id);
  const isOwn = grant?.presence === draft.scope.presence && grant.forced === undefined;
  return isOwn ? grant : undefined;
}

/**
 * Gives a grant of the deciding space, pending or held, its full length from this commit (L23), and
 * takes it into the deciding space's presence (L15). One that is over is ended, not revived:
 * undefined is given then.
 */
export function settleOwnGrant(draft: LockDraft, id: string): Grant | undefined {
  const grant = grantOf(draft, id);
  if (grant === undefined) return undefined;
  if (!isLiveForHolder(grant, draft.now)) {
    if (grant.forced === undefined) {
      draft.endGrant(grant, grant.state === "pending" ? "withdrawn" : "reclaimed");
    }
    return undefined;
  }
  draft.relyOn(grant.expiresAt);
  const end = draft.now + grant.leaseMs;
  // A later change of the lease may have set a later end, which a late packet must not undo (L129).
  const isKept = grant.state === "held" && grant.change > 0 && grant.expiresAt > end;
  const settled: Grant = {
    ...grant,
    state: "held",
    presence: draft.scope.presence,
    ...(isKept ? {} : { spanMs: grant.leaseMs, expiresAt: end }),
  };
  draft.replaceGrant(id, settled);
  return settled;
}

/**
 * The same for a grant of several locks, all of which the decision has opened: it is confirmed
 * whole or not at all, and what is left of a broken one is ended (I14).
 */
export function settleOwnGrants(
  decision: DecisionDraft,
  locks: readonly LockDraft[],
  id: string,
): GrantFacts | undefined {
  const isWhole = locks.every((lock) => {
    const grant = grantOf(lock, id);
    return grant !== undefined && isLiveForHolder(grant, decision.now);
  });
  const parts = locks.flatMap((lock) => {
    const grant = settleOwnGrant(lock, id);
    return grant === undefined ? [] : [{ name: lock.name, grant, lock }];
  });
  if (isWhole) return batchFacts(parts);
  for (const { lock, grant } of parts) lock.endGrant(grant, "cancelled");
  return undefined;
}
