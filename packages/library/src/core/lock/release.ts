import type { Decision, Snapshot } from "../decision.ts";
import { endOver } from "./ending.ts";
import { DecisionDraft, openLock } from "./draft.ts";
import { type Outcome } from "./outcome.ts";
import { LockDraft } from "./draft.ts";
import { grantOf } from "./own-grant.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import { isLiveForHolder } from "./validity.ts";
import { walkAll } from "./walk.ts";

export interface ReleaseCommand {
  readonly scope: LockScope;
  readonly name: string;
  /** The further locks of a batch. */
  readonly also?: readonly string[] | undefined;
  readonly id: string;
  /** `lost` when the holder had lost the lease before and only ends what the engine still holds. */
  readonly how: "released" | "lost";
  /** An earlier attempt of this release may have been stored: then an id that is gone counts. */
  readonly isRepeat?: boolean | undefined;
}

/**
 * Frees the grant of this lease id on all its locks and grants the successors in the same commit
 * (L20, L45). A lapsed grant goes with its lock-delay, and the answer is false (L47); an unknown id
 * changes nothing. A repeat after an unknown outcome finds its own earlier commit and answers from
 * there (6.6).
 */
export function decideRelease(
  snapshot: Snapshot,
  command: ReleaseCommand,
): Decision<Outcome<boolean>> {
  const { scope, name, also = [] } = command;
  const decision = new DecisionDraft(snapshot, scope);
  const locks = decision.open([name, ...also]);
  if ("needs" in locks) return locks;
  for (const lock of locks) endOver(lock);
  // Each lock is seen to, also when an earlier one of a batch has been lost (L82).
  const freed = locks.map((lock) => free(lock, command)).every(Boolean);
  const needs = walkAll(decision);
  return needs ?? finish({ decision }, freed && command.how === "released");
}

/** Ends the grant of one lock; whether it was live, or was freed by an earlier attempt. */
function free(draft: LockDraft, command: ReleaseCommand): boolean {
  const grant = grantOf(draft, command.id);
  const isLive = grant !== undefined && isLiveForHolder(grant, draft.now);
  if (grant !== undefined && grant.forced === undefined) {
    if (isLive) draft.relyOn(grant.expiresAt);
    draft.endGrant(grant, isLive ? command.how : "reclaimed");
  }
  return isLive || (grant === undefined && wasFreedBefore(draft, command));
}

type Freed = Pick<ReleaseCommand, "id" | "isRepeat">;

function wasFreedBefore(draft: LockDraft, { id, isRepeat }: Freed): boolean {
  if (isRepeat !== true || grantOf(draft, id) !== undefined) return false;
  const ended = draft.endedOf(id);
  return ended === undefined || ended.how === "released";
}

export interface ReleaseClaimCommand {
  readonly scope: LockScope;
  readonly name: string;
  readonly owner: string;
  /** The claim that an earlier attempt of this call may have freed (6.6). */
  readonly earlier?: string | null | undefined;
}

/** Frees the claim of an owner id that nobody has resumed (L94); gives its id, null for none. */
export function decideReleaseClaim(
  snapshot: Snapshot,
  command: ReleaseClaimCommand,
): Decision<Outcome<string | null>> {
  const draft = openLock(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  endOver(draft);
  const claim = draft.grants.find(
    ({ kind, owner, forced }) =>
      kind === "claim" && owner === command.owner && forced === undefined,
  );
  const isLive = claim !== undefined && isLiveForHolder(claim, draft.now);
  if (claim !== undefined) {
    if (isLive) draft.relyOn(claim.expiresAt);
    draft.endGrant(claim, isLive ? "released" : "reclaimed");
  }
  const needs = walkAll(draft.decision);
  if (isLive) return needs ?? finish(draft, claim.id);
  const { earlier = null } = command;
  const isFreed = earlier !== null && wasFreedBefore(draft, { id: earlier, isRepeat: true });
  return needs ?? finish(draft, isFreed ? earlier : null);
}
