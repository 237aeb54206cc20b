import type { Decision, Needs, Snapshot } from "../decision.ts";
import type { DurationMs, EpochMs, Json } from "../scalars.ts";
import { addNewGrant, advance, endOver } from "./advance.ts";
import { denialOf, expectedEnd, isGrantable } from "./denial.ts";
import { grantFacts, LockDraft, type GrantFacts, type Outcome } from "./draft.ts";
import { keepOwnPresence } from "./presence.ts";
import { grantOf, settleOwnGrant } from "./own-grant.ts";
import { purgeDead } from "./purge.ts";
import { enqueue, findTicket, replaceTicket } from "./queue.ts";
import type { How, Mode, Ticket, TicketKind } from "./record.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import type { Denial } from "./views.ts";

/** What is asked for by acquire, tryAcquire, claim and tryClaim. A claim is always exclusive. */
export interface AcquireCommand {
  readonly scope: LockScope;
  readonly name: string;
  /** The attempt id: becomes the ticket id and the lease id. */
  readonly id: string;
  readonly kind: TicketKind;
  readonly mode: Mode;
  readonly owner: string;
  readonly note?: string | undefined;
  readonly value?: Json | undefined;
  readonly leaseMs: DurationMs;
  readonly lockDelayMs: DurationMs;
  /** How long the ticket may wait; `null` without limit, 0 never queues (L10, L11). */
  readonly waitMs: DurationMs | null;
  /** The attempt may have been stored before: it is looked for first (L15). */
  readonly isRepeat: boolean;
}

export type AcquireResult =
  | { readonly kind: "granted"; readonly grant: GrantFacts }
  | QueuedResult
  | { readonly kind: "refused"; readonly denial: Denial }
  | { readonly kind: "full"; readonly depth: number; readonly limit: number }
  | { readonly kind: "gone"; readonly how: How | null }
  | { readonly kind: "unjudged" };

export interface QueuedResult {
  readonly kind: "queued";
  readonly number: number;
  readonly denial: Denial;
  /** When to look although nothing was heard: the end, for others, of what keeps it out. */
  readonly expectedEnd: EpochMs | null;
}

/** A ticket outlives its wait by this much, so that the final decision finds it (section 4). */
export const giveUpGraceMs = 5_000;

/** Grants at once, queues, or refuses (L8, L10, L11, L15, L16, L18, L34). */
export function decideAcquire(
  snapshot: Snapshot,
  command: AcquireCommand,
): Decision<Outcome<AcquireResult>> {
  const draft = LockDraft.open(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  const earlier = earlierOutcome(draft, command);
  if (earlier !== undefined) {
    if (isNeedsOf(earlier)) return earlier;
    return advance(draft, false) ?? finish(draft, earlier);
  }
  const stood = command.isRepeat ? findTicket(draft, command.id, null) : undefined;
  const needs = advance(draft, true);
  if (needs !== undefined) return needs;
  const own = grantOf(draft, command.id);
  if (own !== undefined) return finish(draft, { kind: "granted", grant: grantFacts(own) });
  const repeated = stood === undefined ? undefined : findTicket(draft, command.id, null);
  // Its ticket was dead and has just been passed over: the attempt is never granted any more (L21).
  if (stood !== undefined && repeated === undefined) {
    return finish(draft, { kind: "gone", how: null });
  }
  if (draft.more) return finish(draft, { kind: "unjudged" });
  if (repeated !== undefined) {
    if (isNeedsOf(repeated)) return repeated;
    draft.hasChanged = true;
    return finish(draft, queued(draft, repeated.ticket, repeated.position));
  }
  if (!isGrantable(draft, command.mode)) return refuseOrEnqueue(draft, command);
  const { presence } = command.scope;
  const request = { ...wishOf(command), state: "held", spanMs: command.leaseMs, presence } as const;
  const grant = addNewGrant(draft, { ...request, size: 1 });
  return finish(draft, { kind: "granted", grant: grantFacts(grant) });
}

/**
 * The outcome that the same attempt had before, if any; a queued one is taken over first. What was
 * found is written even unchanged, so that an older packet of the attempt is refused (L128).
 */
function earlierOutcome(
  draft: LockDraft,
  command: AcquireCommand,
): AcquireResult | Needs | undefined {
  // A first request, too, may be older than the end of its attempt: it was overtaken (L16). Asked
  // before anything else ends, because that may push the entry out of the list.
  const ended = draft.endedOf(command.id);
  if (ended !== undefined) return { kind: "gone", how: ended.how };
  if (!command.isRepeat) return undefined;
  endOver(draft);
  const withdrawn = draft.endedOf(command.id);
  if (withdrawn !== undefined) return { kind: "gone", how: withdrawn.how };
  if (grantOf(draft, command.id) !== undefined) {
    const grant = settleOwnGrant(draft, command.id);
    if (grant !== undefined) return { kind: "granted", grant: grantFacts(grant) };
    return { kind: "gone", how: draft.endedOf(command.id)?.how ?? null };
  }
  const found = findTicket(draft, command.id, null);
  if (found === undefined || isNeedsOf(found)) return found;
  const { presence } = command.scope;
  if (found.ticket.presence === presence) return undefined;
  replaceTicket(draft, found, { ...found.ticket, presence });
  return keepOwnPresence(draft);
}

function refuseOrEnqueue(
  draft: LockDraft,
  command: AcquireCommand,
): Decision<Outcome<AcquireResult>> {
  const { mode, waitMs, scope } = command;
  if (waitMs === 0) return finish(draft, { kind: "refused", denial: denialOf(draft, mode, null) });
  const purged = draft.depth < scope.queueMax ? undefined : purgeDead(draft);
  if (purged !== undefined) return purged;
  if (draft.depth >= scope.queueMax) {
    return finish(draft, { kind: "full", depth: draft.depth, limit: scope.queueMax });
  }
  const position = draft.depth;
  const ticket = ticketOf(draft, command);
  const needs = keepOwnPresence(draft) ?? enqueue(draft, ticket);
  if (needs !== undefined) return needs;
  return finish(draft, queued(draft, ticket, position));
}

function queued(draft: LockDraft, ticket: Ticket, position: number): QueuedResult {
  return {
    kind: "queued",
    number: ticket.number,
    denial: denialOf(draft, ticket.mode, position),
    expectedEnd: expectedEnd(draft, ticket.mode),
  };
}

function ticketOf(draft: LockDraft, command: AcquireCommand): Ticket {
  const giveUpAt = draft.now + (command.waitMs ?? Infinity) + giveUpGraceMs;
  return {
    ...wishOf(command),
    number: draft.nextTicket,
    enqueuedAt: draft.now,
    giveUpAt: Number.isSafeInteger(giveUpAt) ? giveUpAt : null,
    presence: command.scope.presence,
    size: 1,
  };
}

type Wish = Pick<
  Ticket,
  "id" | "kind" | "mode" | "owner" | "actor" | "note" | "value" | "leaseMs" | "lockDelayMs"
>;

function wishOf(command: AcquireCommand): Wish {
  const { id, kind, mode, owner, note, value, leaseMs, lockDelayMs } = command;
  return {
    id,
    kind,
    mode,
    owner,
    actor: command.scope.actor,
    ...(note === undefined ? {} : { note }),
    ...(value === undefined ? {} : { value }),
    leaseMs,
    lockDelayMs,
  };
}

function isNeedsOf(value: object): value is Needs {
  return "needs" in value;
}
