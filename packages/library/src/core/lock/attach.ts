import type { Decision, Snapshot } from "../decision.ts";
import { DecisionDraft } from "./draft.ts";
import { endOver } from "./ending.ts";
import { batchFacts, type GrantFacts } from "./facts.ts";
import { addNewGrant } from "./new-grant.ts";
import type { Outcome } from "./outcome.ts";
import { grantOf, settleOwnGrants } from "./own-grant.ts";
import type { Grant } from "./record.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import { isLiveForHolder } from "./validity.ts";
import { walkAll } from "./walk.ts";

export interface AttachCommand {
  readonly scope: LockScope;
  /** All locks of the lease that was given away. */
  readonly names: readonly string[];
  /** Its lease id. */
  readonly leaseId: string;
  /** The attempt id: becomes the new lease id. */
  readonly id: string;
}

/**
 * Takes up a live lease that was given away: a new id and higher tokens on all its locks, and the
 * old id is dead (L95). Null when any part of it is over or was taken up before.
 */
export function decideAttach(
  snapshot: Snapshot,
  command: AttachCommand,
): Decision<Outcome<GrantFacts | null>> {
  const { scope, names, leaseId, id } = command;
  const decision = new DecisionDraft(snapshot, scope);
  const locks = decision.open(names);
  if ("needs" in locks) return locks;
  for (const lock of locks) endOver(lock);
  if (locks.some((lock) => grantOf(lock, id) !== undefined)) {
    const own = settleOwnGrants(decision, locks, id);
    return walkAll(decision) ?? finish({ decision }, own ?? null);
  }
  const hasEnded = locks.some((lock) => lock.endedOf(id) !== undefined);
  const isWhole = locks.every((lock) => {
    const grant = grantOf(lock, leaseId);
    return grant !== undefined && isLiveForHolder(grant, lock.now) && grant.state === "held";
  });
  if (hasEnded || !isWhole) return walkAll(decision) ?? finish({ decision }, null);
  const parts = locks.map((lock) => {
    const earlier = grantOf(lock, leaseId) as Grant;
    lock.relyOn(earlier.expiresAt);
    const { stir } = lock;
    lock.endGrant(earlier, "superseded", { by: scope.actor });
    // Nobody gets in between: the lease goes on under its new id.
    lock.stir = stir;
    const { token: _token, expiresAt: _end, grantedAt: _since, change: _change, ...kept } = earlier;
    const { actor, presence } = scope;
    const grant = addNewGrant(lock, { ...kept, id, actor, presence, spanMs: earlier.leaseMs });
    return { name: lock.name, grant };
  });
  return walkAll(decision) ?? finish({ decision }, batchFacts(parts));
}
