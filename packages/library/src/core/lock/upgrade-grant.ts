import type { LockDraft } from "./draft.ts";
import { reclaimLapsed } from "./new-grant.ts";
import type { Grant } from "./record.ts";

/**
 * Makes the shared grant of a lease exclusive, with a new token and the same end; it is held at
 * once, whoever decides, because its lease lives on by its own end (L22, L74).
 */
export function upgradeGrant(lock: LockDraft, leaseId: string): Grant {
  reclaimLapsed(lock);
  const shared = lock.grants.find(({ id }) => id === leaseId) as Grant;
  const upgraded: Grant = { ...shared, mode: "exclusive", token: lock.mint() };
  lock.replaceGrant(leaseId, upgraded);
  lock.relyOn(shared.expiresAt);
  lock.grants.sort((one, other) => one.token - other.token);
  lock.audit("upgraded", upgraded);
  return upgraded;
}
