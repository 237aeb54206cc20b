import type { Decision, Needs, Snapshot } from "../decision.ts";
import type { DurationMs, EpochMs } from "../scalars.ts";
import { advance } from "./advance.ts";
import { blockersOf } from "./blocking.ts";
import { denialOf, expectedEnd, holderView } from "./denial.ts";
import { LockDraft, openLock } from "./draft.ts";
import { endOver } from "./ending.ts";
import { giveUpAt } from "./enqueue.ts";
import { entryOf, grantFacts, type GrantEntry, type GrantFacts } from "./facts.ts";
import { grantOf } from "./own-grant.ts";
import type { Outcome } from "./outcome.ts";
import { keepOwnPresence } from "./presence.ts";
import { enqueueFirst, removeTicket } from "./queue.ts";
import type { Grant, Ticket } from "./record.ts";
import { lost, type LostResult } from "./renew.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import { upgradeGrant } from "./upgrade-grant.ts";
import { isLiveForHolder, type Asked } from "./validity.ts";
import type { Denial, HolderView } from "./views.ts";
import { newcomer, walkAll } from "./walk.ts";

/** A lease that is to become exclusive on one of its locks, or shared again. */
interface ChangeOfMode {
  readonly scope: LockScope;
  readonly name: string;
  /** The lease id. */
  readonly id: string;
  /** The token that the holder knows; a higher one has been minted by an upgrade of its own. */
  readonly token: number;
  /** Rises with every change of this lease; a lower one than the stored changes nothing (L129). */
  readonly change: number;
}

export interface UpgradeCommand extends ChangeOfMode {
  /** The id of this attempt, and of its ticket. */
  readonly attempt: string;
  /** How long the wish may wait; `null` without limit, 0 never queues. */
  readonly waitMs: DurationMs | null;
}

export type UpgradeResult =
  | { readonly kind: "upgraded"; readonly grant: GrantFacts }
  | {
      readonly kind: "queued";
      readonly number: number;
      readonly denial: Denial;
      readonly expectedEnd: EpochMs | null;
    }
  | { readonly kind: "refused"; readonly denial: Denial }
  | { readonly kind: "conflict"; readonly other: HolderView }
  /** A later change of the lease came first: the wish is to be sent anew, under a new number. */
  | { readonly kind: "overtaken" }
  | LostResult;

/**
 * Makes a shared lease exclusive once the other shared holders have left: before all tickets, with
 * a new token, without leaving the lock (L74). A second wish is refused at once (L75).
 */
export function decideUpgrade(
  snapshot: Snapshot,
  command: UpgradeCommand,
): Decision<Outcome<UpgradeResult>> {
  const draft = openLock(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  const needs = advance(draft, newcomer("shared"));
  if (needs !== undefined) return needs;
  const grant = grantOf(draft, command.id);
  if (grant === undefined || !isLiveForHolder(grant, draft.now)) {
    return finish(draft, lost(draft, grant, command.id, command.token));
  }
  draft.relyOn(grant.expiresAt);
  if (grant.mode === "exclusive")
    return finish(draft, upgraded(draft, noted(draft, grant, command), command));
  const asked: Asked = { mode: "exclusive", upgrades: command.id };
  const [head] = draft.queue;
  if (head?.upgrades !== undefined && head.upgrades !== command.id) {
    return finish(draft, { kind: "conflict", other: viewOf(draft, head) });
  }
  if (command.change < grant.change) {
    return finish(draft, { kind: "overtaken" });
  }
  noted(draft, grant, command);
  if (blockersOf(draft, asked).length === 0) {
    if (head?.upgrades === command.id)
      removeTicket(draft, { ticket: head, page: null, position: 0 });
    return finish(draft, upgraded(draft, upgradeGrant(draft, command.id), command));
  }
  if (command.waitMs === 0) {
    return finish(draft, { kind: "refused", denial: denialOf(draft, asked, null) });
  }
  return enqueueWish(draft, grant, command);
}

/** Notes the number of this change, so that an older packet is told from it. */
function noted(draft: LockDraft, grant: Grant, { change }: ChangeOfMode): Grant {
  const next = { ...grant, change: Math.max(change, grant.change) };
  draft.replaceGrant(grant.id, next);
  return next;
}

function upgraded(draft: LockDraft, grant: Grant, { attempt }: UpgradeCommand): UpgradeResult {
  return { kind: "upgraded", grant: { ...grantFacts(draft.name, grant), id: attempt } };
}

function enqueueWish(
  draft: LockDraft,
  grant: Grant,
  command: UpgradeCommand,
): Decision<Outcome<UpgradeResult>> {
  const { id, attempt, waitMs, scope } = command;
  const asked: Asked = { mode: "exclusive", upgrades: id };
  const [head] = draft.queue;
  const standing = head?.upgrades === id ? head : undefined;
  const ticket: Ticket = {
    id: attempt,
    number: standing?.number ?? draft.nextTicket,
    kind: "lease",
    mode: "exclusive",
    owner: grant.owner,
    actor: scope.actor,
    leaseMs: grant.leaseMs,
    lockDelayMs: grant.lockDelayMs,
    enqueuedAt: standing?.enqueuedAt ?? draft.now,
    giveUpAt: giveUpAt(draft.now, waitMs),
    presence: scope.presence,
    size: 1,
    upgrades: id,
  };
  const needs: Needs | undefined = keepOwnPresence(draft);
  if (needs !== undefined) return needs;
  enqueueFirst(draft, ticket);
  return finish(draft, {
    kind: "queued",
    number: ticket.number,
    denial: denialOf(draft, asked, 0),
    expectedEnd: expectedEnd(draft, asked),
  });
}

/** Whose wish stands first: the holder that waits to become exclusive. */
function viewOf(draft: LockDraft, { upgrades }: Ticket): HolderView {
  const holder = draft.grants.find(({ id }) => id === upgrades) as Grant;
  return holderView(draft, holder);
}

export interface CancelUpgradeCommand extends ChangeOfMode {
  readonly attempt: string;
}

/**
 * Gives the wish up: its ticket goes; an upgrade that was granted unseen is set back to the shared
 * grant with the token that the holder knows, and the new one is burnt (L76).
 */
export function decideCancelUpgrade(
  snapshot: Snapshot,
  command: CancelUpgradeCommand,
): Decision<Outcome<null>> {
  const draft = openLock(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  endOver(draft);
  const wish = draft.queue.find(({ id }) => id === command.attempt);
  if (wish !== undefined) removeTicket(draft, { ticket: wish, page: null, position: 0 });
  const grant = grantOf(draft, command.id);
  if (grant !== undefined && grant.mode === "exclusive" && grant.token > command.token) {
    setBack(draft, grant, command);
  } else if (grant !== undefined) {
    // Written even unchanged, so that the wish, if it is still under way, is refused (L128).
    noted(draft, grant, command);
  }
  return walkAll(draft.decision) ?? finish(draft, null);
}

function setBack(draft: LockDraft, grant: Grant, { token, change }: ChangeOfMode): void {
  draft.replaceGrant(grant.id, { ...grant, mode: "shared", token, change });
  draft.grants.sort((one, other) => one.token - other.token);
  draft.stirBy("exclusive");
}

export type DowngradeResult =
  | { readonly kind: "downgraded"; readonly entry: GrantEntry }
  | LostResult;

/** Makes an exclusive lease shared, with its token, and lets the shared heads in (L77). */
export function decideDowngrade(
  snapshot: Snapshot,
  command: ChangeOfMode,
): Decision<Outcome<DowngradeResult>> {
  const draft = openLock(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  endOver(draft);
  const grant = grantOf(draft, command.id);
  if (grant === undefined || !isLiveForHolder(grant, draft.now)) {
    const needs = walkAll(draft.decision);
    return needs ?? finish(draft, lost(draft, grant, command.id, command.token));
  }
  draft.relyOn(grant.expiresAt);
  const isDue = grant.mode === "exclusive" && command.change >= grant.change;
  const shared: Grant = isDue ? { ...noted(draft, grant, command), mode: "shared" } : grant;
  draft.replaceGrant(grant.id, shared);
  if (isDue) {
    draft.audit("downgraded", shared);
    draft.stirBy("exclusive");
  }
  const entry = entryOf(draft.name, shared);
  return walkAll(draft.decision) ?? finish(draft, { kind: "downgraded", entry });
}
