import type { Decision, Needs, Snapshot } from "../decision.ts";
import type { EpochMs } from "../scalars.ts";
import { endOver } from "./ending.ts";
import { passOver, placesOf } from "./batch.ts";
import { DecisionDraft } from "./draft.ts";
import { type Outcome } from "./outcome.ts";
import { denialOf, expectedEnd } from "./denial.ts";
import type { LockDraft } from "./draft.ts";
import { batchFacts, type GrantFacts } from "./facts.ts";
import { grantOf, ownGrantOf, settleOwnGrants } from "./own-grant.ts";
import { findTicket, mayStandInPages } from "./queue.ts";
import type { How, Mode } from "./record.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import type { Denial } from "./views.ts";
import { waiters, walkAll, walkLock } from "./walk.ts";

/** A ticket of the deciding space, as its waiter knows it. */
export interface TicketRef {
  readonly id: string;
  /** Its number on the lock that is looked at. */
  readonly number: number;
  readonly mode: Mode;
  /** All locks of a batch in the order in which they were asked for. */
  readonly names?: readonly string[] | undefined;
  /** The lease that is to become exclusive (L74). */
  readonly upgrades?: string | undefined;
}

/** Tickets of the deciding space on one lock, in number order. */
export interface LookCommand {
  readonly scope: LockScope;
  readonly name: string;
  readonly tickets: readonly TicketRef[];
}

export type TicketAnswer =
  | { readonly id: string; readonly kind: "granted"; readonly grant: GrantFacts }
  | { readonly id: string; readonly kind: "gone"; readonly how: How | null };

export interface LookResult {
  /** What became of tickets; those that still wait are not named. */
  readonly answers: readonly TicketAnswer[];
  /** Tickets of batches that another of their locks holds back; look there from now on (L132). */
  readonly moved: readonly { readonly id: string; readonly name: string }[];
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
  const decision = new DecisionDraft(snapshot, command.scope);
  const opened = decision.open([command.name]);
  if ("needs" in opened) return opened;
  const [lock] = opened as readonly [LockDraft];
  const settled = settleAll(lock, command.tickets);
  if ("needs" in settled) return settled;
  endOver(lock);
  const needs = walkLock(lock, waiters(lock, command.tickets)) ?? walkAll(decision);
  if (needs !== undefined) return needs;
  const answers: TicketAnswer[] = [];
  const waiting: TicketRef[] = [];
  for (const ticket of command.tickets) {
    const answer = settled.get(ticket.id) ?? answerFor(lock, ticket);
    if (answer === undefined) waiting.push(ticket);
    else answers.push(answer);
  }
  const moved = waiting.flatMap(({ id }) => {
    const name = decision.heldBack?.get(id);
    return name === undefined ? [] : [{ id, name }];
  });
  const first = waiting.find(({ id }) => decision.heldBack?.has(id) !== true);
  if (first === undefined) {
    return finish(lock, { answers, moved, denial: null, expectedEnd: null });
  }
  const found = lock.queue.find(({ id }) => id === first.id);
  const position = found === undefined ? lock.depth : lock.queue.indexOf(found);
  const asked = found ?? first;
  const denial = viaOf(lock, found?.for, denialOf(lock, asked, position));
  return finish(lock, { answers, moved, denial, expectedEnd: expectedEnd(lock, asked) });
}

/** A denial on an owning lock names the lock that was asked for, and the way (L87). */
function viaOf(lock: LockDraft, sake: string | undefined, denial: Denial): Denial {
  return sake === undefined ? denial : { ...denial, name: sake, via: lock.name };
}

/** Gives what was granted before its full length; opens all locks of a granted batch. */
function settleAll(
  lock: LockDraft,
  tickets: readonly TicketRef[],
): ReadonlyMap<string, TicketAnswer> | Needs {
  const settled = new Map<string, TicketAnswer>();
  const missing: Needs["needs"][] = [];
  for (const ticket of tickets) {
    if (ticket.upgrades !== undefined || ownGrantOf(lock, ticket.id) === undefined) continue;
    const answer = settle(lock, ticket);
    if ("needs" in answer) missing.push(answer.needs);
    else settled.set(ticket.id, answer);
  }
  return missing.length > 0 ? { needs: missing.flat() } : settled;
}

function settle(lock: LockDraft, { id, names }: TicketRef): TicketAnswer | Needs {
  const { decision } = lock;
  const locks = names === undefined ? [lock] : decision.open(names);
  if ("needs" in locks) return locks;
  const grant = settleOwnGrants(decision, locks, id);
  return grant === undefined ? gone(lock, id) : { id, kind: "granted", grant };
}

/** A waiter whose time is up: takes its grant, or leaves the queue (L26). */
export interface GiveUpCommand {
  readonly scope: LockScope;
  readonly name: string;
  readonly ticket: TicketRef;
}

export type GiveUpResult =
  | TicketAnswer
  | { readonly kind: "removed"; readonly denial: Denial }
  | { readonly kind: "unjudged" };

export function decideGiveUp(
  snapshot: Snapshot,
  command: GiveUpCommand,
): Decision<Outcome<GiveUpResult>> {
  const { ticket, scope } = command;
  const decision = new DecisionDraft(snapshot, scope);
  const opened = decision.open([command.name]);
  if ("needs" in opened) return opened;
  const [lock] = opened as readonly [LockDraft];
  const settled = settleAll(lock, [ticket]);
  if ("needs" in settled) return settled;
  endOver(lock);
  const needs = walkLock(lock, waiters(lock, [ticket])) ?? walkAll(decision);
  if (needs !== undefined) return needs;
  const granted = settled.get(ticket.id) ?? grantedFor(lock, ticket);
  if (granted !== undefined) return finish(lock, granted);
  if (decision.more) return finish(lock, { kind: "unjudged" });
  return leave(lock, ticket);
}

/** Takes the ticket out of all its queues, and lets those behind it in. */
function leave(lock: LockDraft, { id, number }: TicketRef): Decision<Outcome<GiveUpResult>> {
  const found = findTicket(lock, id, number);
  if (found !== undefined && "needs" in found) return found;
  // A ticket that has gone on under another presence is that presence's to remove (L130).
  const isOwn = found?.ticket.presence === lock.scope.presence;
  if (found === undefined || !isOwn) return finish(lock, gone(lock, id));
  const denial = viaOf(lock, found.ticket.for, denialOf(lock, found.ticket, found.position));
  const places = placesOf(lock, found);
  if ("needs" in places) return places;
  const needs = passOver(places) ?? walkAll(lock.decision);
  return needs ?? finish(lock, { kind: "removed", denial });
}

/** What became of a ticket; undefined while it waits, or may wait in a page that was not read. */
function answerFor(lock: LockDraft, ticket: TicketRef): TicketAnswer | undefined {
  const { id } = ticket;
  const granted = grantedFor(lock, ticket);
  if (granted !== undefined) return granted;
  const found = lock.queue.find((each) => each.id === id);
  if (found !== undefined && found.presence === lock.scope.presence) return undefined;
  if (found !== undefined) return gone(lock, id);
  return mayStandInPages(lock, ticket.number) ? undefined : gone(lock, id);
}

/** The grant that the walk has just made for a ticket, on all its locks. */
function grantedFor(lock: LockDraft, ticket: TicketRef): TicketAnswer | undefined {
  const { id, names = [lock.name], upgrades } = ticket;
  if (upgrades !== undefined) {
    const upgraded = grantOf(lock, upgrades);
    if (upgraded?.mode !== "exclusive") return undefined;
    const facts = batchFacts([{ name: lock.name, grant: upgraded }]);
    return { id, kind: "granted", grant: facts };
  }
  if (ownGrantOf(lock, id) === undefined) return undefined;
  const parts = names.flatMap((name) => {
    const opened = lock.decision.opened(name);
    const grant = opened === undefined ? undefined : ownGrantOf(opened, id);
    return grant === undefined ? [] : [{ name, grant }];
  });
  return { id, kind: "granted", grant: batchFacts(parts) };
}

function gone(lock: LockDraft, id: string): TicketAnswer {
  return { id, kind: "gone", how: lock.endedOf(id)?.how ?? null };
}
