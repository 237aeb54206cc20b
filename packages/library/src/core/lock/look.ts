import type { Decision, Needs, Snapshot } from "../decision.ts";
import type { EpochMs } from "../scalars.ts";
import { advance } from "./advance.ts";
import { denialOf, expectedEnd } from "./denial.ts";
import { grantFacts, LockDraft, type GrantFacts, type Outcome } from "./draft.ts";
import { ownGrantOf, settleOwnGrant } from "./own-grant.ts";
import { findTicket, mayStandInPages, removeTicket } from "./queue.ts";
import type { How } from "./record.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import type { Denial } from "./views.ts";

/** Tickets of the deciding space on one lock, in number order. */
export interface LookCommand {
  readonly scope: LockScope;
  readonly name: string;
  readonly tickets: readonly { readonly id: string; readonly number: number }[];
}

export type TicketAnswer =
  | { readonly id: string; readonly kind: "granted"; readonly grant: GrantFacts }
  | { readonly id: string; readonly kind: "gone"; readonly how: How | null };

export interface LookResult {
  /** What became of tickets; those that still wait are not named. */
  readonly answers: readonly TicketAnswer[];
  /** The denial of the first of the tickets that waits; null when none does. */
  readonly denial: Denial | null;
  readonly expectedEnd: EpochMs | null;
}

/**
 * A waiter's own decision: advances the lock and learns what became of its tickets. A grant found,
 * pending or held, gets its full length from this commit; one that is over is withdrawn (L23).
 */
export function decideLook(
  snapshot: Snapshot,
  command: LookCommand,
): Decision<Outcome<LookResult>> {
  const draft = LockDraft.open(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  for (const { id } of command.tickets) settleIfGranted(draft, id);
  const needs = advance(draft, true);
  if (needs !== undefined) return needs;
  const answers: TicketAnswer[] = [];
  let first: { readonly id: string; readonly number: number } | undefined;
  for (const ticket of command.tickets) {
    const answer = answerFor(draft, ticket);
    if (answer !== undefined) answers.push(answer);
    else first ??= ticket;
  }
  if (first === undefined) return finish(draft, { answers, denial: null, expectedEnd: null });
  const found = draft.queue.find(({ id }) => id === first.id);
  const mode = found?.mode ?? "exclusive";
  const position = found === undefined ? draft.depth : draft.queue.indexOf(found);
  const denial = denialOf(draft, mode, position);
  return finish(draft, { answers, denial, expectedEnd: expectedEnd(draft, mode) });
}

/** A waiter whose time is up: takes its grant, or leaves the queue (L26). */
export interface GiveUpCommand {
  readonly scope: LockScope;
  readonly name: string;
  readonly ticket: { readonly id: string; readonly number: number };
}

export type GiveUpResult =
  | TicketAnswer
  | { readonly kind: "removed"; readonly denial: Denial }
  | { readonly kind: "unjudged" };

export function decideGiveUp(
  snapshot: Snapshot,
  command: GiveUpCommand,
): Decision<Outcome<GiveUpResult>> {
  const draft = LockDraft.open(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  const { id, number } = command.ticket;
  settleIfGranted(draft, id);
  const needs = advance(draft, true);
  if (needs !== undefined) return needs;
  const grant = ownGrantOf(draft, id);
  if (grant !== undefined) return finish(draft, { id, kind: "granted", grant: grantFacts(grant) });
  if (draft.more) return finish(draft, { kind: "unjudged" });
  const found = findTicket(draft, id, number);
  if (found !== undefined && "needs" in found) return found;
  // A ticket that has gone on under another presence is that presence's to remove (L130).
  const isOwn = found?.ticket.presence === command.scope.presence;
  if (found === undefined || !isOwn) return finish(draft, gone(draft, id));
  const denial = denialOf(draft, found.ticket.mode, found.position);
  removeTicket(draft, found);
  const behind: Needs | undefined = advance(draft, false);
  return behind ?? finish(draft, { kind: "removed", denial });
}

function settleIfGranted(draft: LockDraft, id: string): void {
  if (ownGrantOf(draft, id) !== undefined) settleOwnGrant(draft, id);
}

/** What became of a ticket; undefined while it waits, or may wait in a page that was not read. */
function answerFor(
  draft: LockDraft,
  ticket: { readonly id: string; readonly number: number },
): TicketAnswer | undefined {
  const { id } = ticket;
  const grant = ownGrantOf(draft, id);
  if (grant !== undefined) return { id, kind: "granted", grant: grantFacts(grant) };
  const found = draft.queue.find((each) => each.id === id);
  if (found !== undefined && found.presence === draft.scope.presence) return undefined;
  if (found !== undefined) return gone(draft, id);
  return mayStandInPages(draft, ticket.number) ? undefined : gone(draft, id);
}

function gone(draft: LockDraft, id: string): TicketAnswer {
  return { id, kind: "gone", how: draft.endedOf(id)?.how ?? null };
}
