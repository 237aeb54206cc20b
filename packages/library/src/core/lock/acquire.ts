import type { Decision, Needs, Snapshot } from "../decision.ts";
import type { EpochMs } from "../scalars.ts";
import type { AcquireCommand, AskedItem } from "./acquire-command.ts";
import { endOver } from "./ending.ts";
import { placesOf, type Place } from "./batch.ts";
import { DecisionDraft } from "./draft.ts";
import { type Outcome } from "./outcome.ts";
import { denialOf, expectedEnd, isGrantable } from "./denial.ts";
import type { LockDraft } from "./draft.ts";
import { enqueueAll, takeOver } from "./enqueue.ts";
import { batchFacts, type GrantFacts } from "./facts.ts";
import { addNewGrant, wishOf } from "./new-grant.ts";
import { grantOf, settleOwnGrants } from "./own-grant.ts";
import { purgeDead } from "./purge.ts";
import { findTicket } from "./queue.ts";
import type { Grant, How, Mode } from "./record.ts";
import { finish } from "./settle.ts";
import type { Denial } from "./views.ts";
import { newcomer, walkAll, walkLock } from "./walk.ts";

export type AcquireResult =
  | { readonly kind: "granted"; readonly grant: GrantFacts }
  | QueuedResult
  | { readonly kind: "refused"; readonly denial: Denial }
  | { readonly kind: "full"; readonly name: string; readonly depth: number; readonly limit: number }
  | { readonly kind: "mismatch"; readonly recorded: number }
  | { readonly kind: "gone"; readonly how: How | null }
  | { readonly kind: "unjudged" };

export interface QueuedResult {
  readonly kind: "queued";
  readonly number: number;
  /** The numbers of the ticket on the further locks of a batch. */
  readonly also: readonly { readonly name: string; readonly number: number }[];
  /** Of the lock that holds the request back. */
  readonly denial: Denial;
  /** When to look although nothing was heard: the end, for others, of what keeps it out. */
  readonly expectedEnd: EpochMs | null;
}

/** Grants at once, queues, or refuses (L8, L10, L11, L15, L16, L18, L34, L78). */
export function decideAcquire(
  snapshot: Snapshot,
  command: AcquireCommand,
): Decision<Outcome<AcquireResult>> {
  const decision = new DecisionDraft(snapshot, command.scope);
  const items = itemsOf(command);
  const locks = decision.open(items.map(({ name }) => name));
  if ("needs" in locks) return locks;
  const asking: Asking = { command, decision, items, locks, first: locks[0] as LockDraft };
  const earlier = earlierOutcome(asking);
  if (earlier !== undefined) {
    if (isNeedsOf(earlier)) return earlier;
    for (const lock of locks) endOver(lock);
    return walkAll(decision) ?? finish(asking, earlier);
  }
  return decideNew(asking);
}

interface Asking {
  readonly command: AcquireCommand;
  readonly decision: DecisionDraft;
  readonly items: readonly AskedItem[];
  readonly locks: readonly LockDraft[];
  readonly first: LockDraft;
}

function itemsOf(command: AcquireCommand): readonly AskedItem[] {
  return command.also === undefined ? [command] : [command, ...command.also];
}

function decideNew(asking: Asking): Decision<Outcome<AcquireResult>> {
  const { command, decision, items, locks, first } = asking;
  const stood = command.isRepeat ? findTicket(first, command.id, null) : undefined;
  const needs = advanceFor(asking);
  if (needs !== undefined) return needs;
  const own = grantsOf(asking);
  if (own !== undefined) return finish(asking, { kind: "granted", grant: own });
  const repeated = stood === undefined ? undefined : findTicket(first, command.id, null);
  // Its ticket was dead and has just been passed over: the attempt is never granted any more (L21).
  if (stood !== undefined && repeated === undefined) {
    return finish(asking, { kind: "gone", how: null });
  }
  if (decision.more) return finish(asking, { kind: "unjudged" });
  if (repeated !== undefined) {
    if (isNeedsOf(repeated)) return repeated;
    const places = placesOf(first, repeated);
    if (isNeedsOf(places)) return places;
    for (const lock of locks) lock.hasChanged = true;
    return finish(asking, queued(asking, places.list));
  }
  const recorded = otherLimit(asking);
  if (recorded !== undefined) return finish(asking, { kind: "mismatch", recorded });
  const { permits } = command;
  const isFree = locks.every((lock, index) =>
    isGrantable(lock, { mode: (items[index] as AskedItem).mode, permits }),
  );
  if (!isFree) return refuseOrEnqueue(asking);
  return finish(asking, { kind: "granted", grant: grantAll(asking) });
}

function advanceFor({ command, decision, items, locks }: Asking): Needs | undefined {
  for (const lock of locks) endOver(lock);
  const isOfSemaphore = command.permits !== undefined;
  for (let index = 0; index < locks.length; index += 1) {
    const { mode } = items[index] as AskedItem;
    const wanted = newcomer(isOfSemaphore ? "exclusive" : mode);
    const needs = walkLock(locks[index] as LockDraft, wanted);
    if (needs !== undefined) return needs;
  }
  return walkAll(decision);
}

/** The limit on record, when it is another than the one asked for and is in use (L106). */
function otherLimit({ command, first }: Asking): number | undefined {
  if (command.limit === undefined) return undefined;
  const { limit, grants, depth, now, scope } = first;
  const isUsed = depth > 0 || grants.some(({ expiresAt }) => now < expiresAt + scope.clockErrorMs);
  if (limit !== undefined && limit !== command.limit && isUsed) return limit;
  first.limit = command.limit;
  return undefined;
}

function grantAll({ command, items, locks }: Asking): GrantFacts {
  const { presence } = command.scope;
  const state = { state: "held", spanMs: command.leaseMs, presence, size: items.length } as const;
  const wish = wishOf(command);
  const parts = locks.map((lock, index) => {
    const item = items[index] as AskedItem;
    const mode = command.permits === undefined ? item.mode : "shared";
    const sake = item.for === undefined ? {} : { for: item.for };
    return { name: lock.name, grant: addNewGrant(lock, { ...wish, ...state, mode, ...sake }) };
  });
  return batchFacts(parts);
}

/** The facts of the grant, when the walk has just made it for this attempt. */
function grantsOf({ command, locks }: Asking): GrantFacts | undefined {
  const parts: { readonly name: string; readonly grant: Grant }[] = [];
  for (const lock of locks) {
    const grant = grantOf(lock, command.id);
    if (grant === undefined) return undefined;
    parts.push({ name: lock.name, grant });
  }
  return batchFacts(parts);
}

/**
 * The outcome that the same attempt had before, if any; a queued one is taken over first. What was
 * found is written even unchanged, so that an older packet of the attempt is refused (L128).
 */
function earlierOutcome(asking: Asking): AcquireResult | Needs | undefined {
  const { command, decision, locks, first } = asking;
  // A first request, too, may be older than the end of its attempt: it was overtaken (L16). Asked
  // before anything else ends, because that may push the entry out of the list.
  const ended = endedOf(asking);
  if (ended !== undefined) return ended;
  if (!command.isRepeat) return undefined;
  for (const lock of locks) endOver(lock);
  const withdrawn = endedOf(asking);
  if (withdrawn !== undefined) return withdrawn;
  if (locks.some((lock) => grantOf(lock, command.id) !== undefined)) {
    const grant = settleOwnGrants(decision, locks, command.id);
    return grant === undefined
      ? (endedOf(asking) ?? { kind: "gone", how: null })
      : { kind: "granted", grant };
  }
  const found = findTicket(first, command.id, null);
  if (found === undefined || isNeedsOf(found)) return found;
  if (found.ticket.presence === command.scope.presence) return undefined;
  const places = placesOf(first, found);
  return isNeedsOf(places) ? places : takeOver(places);
}

function endedOf({ command, locks }: Asking): AcquireResult | undefined {
  for (const lock of locks) {
    const ended = lock.endedOf(command.id);
    if (ended !== undefined) return { kind: "gone", how: ended.how };
  }
  return undefined;
}

function refuseOrEnqueue(asking: Asking): Decision<Outcome<AcquireResult>> {
  const { command, locks, items } = asking;
  if (command.waitMs === 0) {
    return finish(asking, { kind: "refused", denial: hold(asking, null).denial });
  }
  for (const lock of locks) {
    const { queueMax } = command.scope;
    const purged = lock.depth < queueMax ? undefined : purgeDead(lock);
    if (purged !== undefined) return purged;
    const { name, depth } = lock;
    if (depth >= queueMax) return finish(asking, { kind: "full", name, depth, limit: queueMax });
  }
  const places = enqueueAll(command, locks, items);
  return isNeedsOf(places) ? places : finish(asking, queued(asking, places));
}

function queued(asking: Asking, places: readonly Place[]): QueuedResult {
  const [first, ...also] = places as readonly [Place, ...Place[]];
  return {
    kind: "queued",
    number: first.found.ticket.number,
    also: also.map(({ lock, found }) => ({ name: lock.name, number: found.ticket.number })),
    ...hold(asking, places),
  };
}

/** What holds the request back: the first of its locks that does, in the order asked for. */
function hold(
  { command, items, locks }: Asking,
  places: readonly Place[] | null,
): Pick<QueuedResult, "denial" | "expectedEnd"> {
  const { permits } = command;
  const held = locks.findIndex((lock, index) => {
    const place = places?.[index];
    const asked = { mode: (items[index] as AskedItem).mode, permits };
    return place === undefined ? !isGrantable(lock, asked) : isHeldBack(place, asked);
  });
  const index = Math.max(0, held);
  const lock = locks[index] as LockDraft;
  const item = items[index] as AskedItem;
  const asked = { mode: item.mode, permits };
  const denial = denialOf(lock, asked, places?.[index]?.found.position ?? null);
  const name = item.for ?? item.name;
  return {
    denial: item.for === undefined ? denial : { ...denial, name, via: item.name },
    expectedEnd: expectedEnd(lock, asked),
  };
}

/** Whether a lock holds a ticket back that stands in its queue. */
function isHeldBack({ lock, found }: Place, asked: { readonly mode: Mode }): boolean {
  if (expectedEnd(lock, { ...found.ticket, mode: asked.mode }) !== null) return true;
  if (asked.mode === "exclusive") return found.position > 0;
  const before = lock.queue.slice(0, found.position);
  const isInPages = found.page !== null && (lock.pages?.exclusive ?? 0) > 0;
  return isInPages || before.some(({ mode, limited }) => mode === "exclusive" || limited === true);
}

function isNeedsOf(value: object): value is Needs {
  return "needs" in value;
}
