import type { Decision, Snapshot } from "../decision.ts";
import { advance } from "./advance.ts";
import { openLock } from "./draft.ts";
import { type Outcome } from "./outcome.ts";
import { LockDraft } from "./draft.ts";
import { grantFacts, type GrantFacts } from "./facts.ts";
import { addNewGrant } from "./new-grant.ts";
import { grantOf, settleOwnGrant } from "./own-grant.ts";
import type { Grant } from "./record.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import { isLiveForHolder } from "./validity.ts";
import { hasLiveWaiter, newcomer, walkAll } from "./walk.ts";

export interface ResumeCommand {
  readonly scope: LockScope;
  readonly name: string;
  readonly owner: string;
  /** The attempt id: becomes the new lease id. */
  readonly id: string;
  /** Refuse while a resumed lease of the claim is live (L91). */
  readonly ifUnresumed: boolean;
}

/**
 * Turns a claim, or the lease it was resumed into, into a lease with a new id and a higher token;
 * the earlier id is superseded (L89). After its end that succeeds while nobody else was granted
 * since and nobody waits, which the advance settles first (L90). Null when there is nothing to
 * resume; with `more` in the outcome it is no verdict, and the command is to be run again after an
 * advance.
 */
export function decideResume(
  snapshot: Snapshot,
  command: ResumeCommand,
): Decision<Outcome<GrantFacts | null>> {
  const draft = openLock(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  if (grantOf(draft, command.id) !== undefined) {
    const own = settleOwnGrant(draft, command.id);
    const behind = own === undefined ? walkAll(draft.decision) : undefined;
    return behind ?? finish(draft, own === undefined ? null : grantFacts(draft.name, own));
  }
  // Asked before the advance, which may push the entry of an ended attempt out of the list (L16).
  const hasEnded = draft.endedOf(command.id) !== undefined;
  const needs = advance(draft, newcomer("exclusive"));
  if (needs !== undefined) return needs;
  const earlier = hasEnded ? undefined : claimOf(draft, command);
  if (earlier === undefined) return finish(draft, null);
  const isWaitedFor = isLiveForHolder(earlier, draft.now) ? false : hasLiveWaiter(draft);
  if (typeof isWaitedFor !== "boolean") return isWaitedFor;
  if (isWaitedFor) return finish(draft, null);
  if (isLiveForHolder(earlier, draft.now)) draft.relyOn(earlier.expiresAt);
  const { scope } = command;
  draft.endGrant(earlier, "superseded", { by: scope.actor });
  const { token: _token, expiresAt: _end, grantedAt: _since, change: _change, ...kept } = earlier;
  const resumed = addNewGrant(draft, {
    ...kept,
    id: command.id,
    kind: "resumed",
    state: "held",
    actor: scope.actor,
    presence: scope.presence,
    spanMs: earlier.leaseMs,
  });
  return finish(draft, grantFacts(draft.name, resumed));
}

function claimOf(draft: LockDraft, command: ResumeCommand): Grant | undefined {
  const claim = draft.grants.findLast(
    ({ kind, owner, forced, state }) =>
      kind !== "lease" && owner === command.owner && forced === undefined && state === "held",
  );
  if (claim === undefined || !command.ifUnresumed || claim.kind === "claim") return claim;
  return isLiveForHolder(claim, draft.now) ? undefined : claim;
}
