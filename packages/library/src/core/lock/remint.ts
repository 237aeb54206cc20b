import type { Decision, Snapshot } from "../decision.ts";
import type { FencingToken } from "../scalars.ts";
import { DecisionDraft, type LockDraft } from "./draft.ts";
import { endOver } from "./ending.ts";
import { batchFacts, type GrantFacts } from "./facts.ts";
import type { Outcome } from "./outcome.ts";
import { grantOf } from "./own-grant.ts";
import type { Grant } from "./record.ts";
import { lost, raiseCounter, type LostResult } from "./renew.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import { isLiveForHolder } from "./validity.ts";
import { walkAll } from "./walk.ts";

export interface RemintCommand {
  readonly scope: LockScope;
  /** The lease id. */
  readonly id: string;
  /** Every lock of the lease, with the highest mark that the resource knows of it; 0 for none. */
  readonly entries: readonly {
    readonly name: string;
    readonly token: FencingToken;
    readonly mark: FencingToken;
  }[];
}

export type RemintResult =
  | { readonly kind: "reminted"; readonly grant: GrantFacts }
  /** The counter knows of the mark, so another has been granted since: the lease is stale. */
  | { readonly kind: "stale" }
  | LostResult;

/**
 * Gives a live lease higher tokens where its resource knows of higher marks than the lock's
 * counter, as after a store that went back in time: the counter is raised first (L72).
 */
export function decideRemint(
  snapshot: Snapshot,
  command: RemintCommand,
): Decision<Outcome<RemintResult>> {
  const { scope, entries, id } = command;
  const decision = new DecisionDraft(snapshot, scope);
  const locks = decision.open(entries.map(({ name }) => name));
  if ("needs" in locks) return locks;
  for (const lock of locks) endOver(lock);
  const result = remint(locks, entries, id);
  return walkAll(decision) ?? finish({ decision }, result);
}

function remint(
  locks: readonly LockDraft[],
  entries: RemintCommand["entries"],
  id: string,
): RemintResult {
  for (const [index, lock] of locks.entries()) {
    const { token, mark } = entries[index] as RemintCommand["entries"][number];
    const grant = grantOf(lock, id);
    if (grant === undefined || !isLiveForHolder(grant, lock.now)) {
      return lost(lock, grant, id, token);
    }
    // A token that was minted by an earlier attempt of this call is above the mark already.
    if (mark > grant.token && lock.counter >= mark) return { kind: "stale" };
  }
  const parts = locks.map((lock, index) => {
    const { mark } = entries[index] as RemintCommand["entries"][number];
    return { name: lock.name, grant: lift(lock, grantOf(lock, id) as Grant, mark) };
  });
  return { kind: "reminted", grant: batchFacts(parts) };
}

function lift(lock: LockDraft, grant: Grant, mark: FencingToken): Grant {
  lock.relyOn(grant.expiresAt);
  if (mark <= grant.token) return grant;
  raiseCounter(lock, mark, "the fence of a resource knows of this token");
  const lifted: Grant = { ...grant, token: lock.mint() };
  lock.replaceGrant(grant.id, lifted);
  lock.grants.sort((one, other) => one.token - other.token);
  return lifted;
}
