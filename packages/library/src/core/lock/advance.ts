import type { Needs } from "../decision.ts";
import { refill } from "./queue.ts";
import type { LockDraft } from "./draft.ts";
import { presenceKey } from "./keys.ts";
import { ticketLiveness } from "./presence.ts";
import type { Grant, Mode, Ticket } from "./record.ts";
import { blocksUntil, conflicts, endForOthers } from "./validity.ts";

/**
 * The prologue of every decision that may write (docs/spec/locks.md section 6.1): ends what is over
 * and grants what has become grantable. Only then is the command itself judged.
 *
 * The walk over the queue runs when something on this lock has ended or is over, or when the
 * command is made for a request; otherwise nothing can have become grantable and nothing is read
 * (L132).
 */
export function advance(draft: LockDraft, isRequest: boolean): Needs | undefined {
  const hasEnded = endOver(draft);
  return isRequest || hasEnded ? walk(draft, isRequest) : undefined;
}

/** The first steps of the advance; true when something has ended or is over, so a walk is due. */
export function endOver(draft: LockDraft): boolean {
  rebaseEnds(draft);
  withdrawUnconfirmed(draft);
  return draft.hasChanged || draft.grants.some((grant) => !isBlocking(draft, grant));
}

/** An end further away than its own span is set to now + span: engine time stepped back (L55). */
function rebaseEnds(draft: LockDraft): void {
  const { now, scope } = draft;
  for (const grant of draft.grants) {
    if (grant.expiresAt <= now + grant.spanMs + scope.clockErrorMs) continue;
    draft.replaceGrant(grant.id, { ...grant, expiresAt: now + grant.spanMs });
  }
}

/** Ends the pending grants that nobody confirmed in time (L24). */
function withdrawUnconfirmed(draft: LockDraft): void {
  const { now, scope } = draft;
  const over = draft.grants.filter(
    (grant) => grant.state === "pending" && now >= endForOthers(grant, scope.clockErrorMs),
  );
  for (const grant of over) draft.endGrant(grant, "withdrawn");
}

function isBlocking(draft: LockDraft, grant: Grant): boolean {
  return draft.now < blocksUntil(grant, draft.scope.clockErrorMs);
}

/** The grants that keep a request of this mode out, live ones and those inside their lock-delay. */
export function blockersOf(draft: LockDraft, mode: Mode): readonly Grant[] {
  return draft.grants.filter((grant) => isBlocking(draft, grant) && conflicts(grant.mode, mode));
}

/** Whether one more grant would pass the holder limit (L134). */
export function isAtHolderLimit(draft: LockDraft): boolean {
  const { length } = draft.grants.filter((grant) => isBlocking(draft, grant));
  return length >= draft.scope.holdersMax;
}

/**
 * Grants and passes over tickets from the head on (L18, L19, L21).
 *
 * Only the head is ever examined: it is granted, passed over, or keeps back everything behind it. A
 * live exclusive grant ends the walk before anything is read.
 */
export function walk(draft: LockDraft, isRequest: boolean): Needs | undefined {
  for (;;) {
    const needs = bringHead(draft);
    if (needs !== undefined) return needs;
    const [head] = draft.queue;
    if (head === undefined) return undefined;
    const step = examineHead(draft, head, isRequest);
    if (step === "stop") return undefined;
    if (step !== "removed") return step;
  }
}

/**
 * Whether a live ticket, or one that could not be judged, waits; dead heads are passed over (L90).
 */
export function hasLiveWaiter(draft: LockDraft): boolean | Needs {
  for (;;) {
    const needs = bringHead(draft);
    if (needs !== undefined) return needs;
    const [head] = draft.queue;
    if (head === undefined) return draft.more;
    const liveness = ticketLiveness(draft, head);
    if (typeof liveness !== "string") return liveness;
    draft.more ||= liveness === "beyond";
    if (liveness !== "dead") return true;
    passOver(draft, head);
  }
}

/** Takes the next page into an emptied record, as far as the widening bound allows. */
function bringHead(draft: LockDraft): Needs | undefined {
  if (draft.queue.length > 0 || draft.pages === undefined) return undefined;
  if (draft.widened >= draft.scope.wideningMax) {
    draft.more = true;
    return undefined;
  }
  const needs = refill(draft);
  if (needs === undefined) draft.widened += 1;
  return needs;
}

function examineHead(
  draft: LockDraft,
  head: Ticket,
  isRequest: boolean,
): "removed" | "stop" | Needs {
  const blockers = blockersOf(draft, head.mode);
  const isBarred = blockers.some((grant) => grant.mode === "exclusive");
  if (isBarred || !draft.canMint) return "stop";
  const hasFollower = draft.depth > 1 || isRequest;
  if (blockers.length > 0 && !hasFollower) return "stop";
  const liveness = ticketLiveness(draft, head);
  if (typeof liveness !== "string") return liveness;
  if (liveness === "dead") {
    passOver(draft, head);
    return "removed";
  }
  draft.more ||= liveness === "beyond";
  if (liveness === "beyond" || blockers.length > 0) return "stop";
  if (isAtHolderLimit(draft)) {
    markLimited(draft, head);
    return "stop";
  }
  grantTicket(draft, head);
  return "removed";
}

/** Removes a dead ticket; its attempt is remembered nowhere, because nobody waits for it (L21). */
function passOver(draft: LockDraft, ticket: Ticket): void {
  draft.hasChanged = true;
  draft.queue = draft.queue.filter((each) => each !== ticket);
}

function markLimited(draft: LockDraft, ticket: Ticket): void {
  if (ticket.limited === true) return;
  draft.hasChanged = true;
  draft.queue = draft.queue.map((each) => (each === ticket ? { ...each, limited: true } : each));
}

/**
 * Turns a ticket into a grant: held at once for a ticket of the deciding space, pending until
 * confirmed for any other (L22). The commit tells the other presence.
 */
function grantTicket(draft: LockDraft, ticket: Ticket): void {
  const isOwn = ticket.presence === draft.scope.presence;
  const spanMs = isOwn ? ticket.leaseMs : draft.scope.confirmMs;
  draft.queue = draft.queue.filter((each) => each !== ticket);
  const { id, kind, mode, owner, actor, note, value, leaseMs, lockDelayMs, size, presence } =
    ticket;
  const grant = addNewGrant(draft, {
    id,
    kind,
    state: isOwn ? "held" : "pending",
    mode,
    owner,
    actor,
    ...(note === undefined ? {} : { note }),
    ...(value === undefined ? {} : { value }),
    leaseMs,
    spanMs,
    lockDelayMs,
    size,
    ...(ticket.for === undefined ? {} : { for: ticket.for }),
    presence,
  });
  if (isOwn) draft.tellGranted(grant);
  else draft.hint(presenceKey(draft.scope.namespace, presence));
}

type NewGrant = Omit<Grant, "token" | "expiresAt" | "grantedAt" | "change">;

/** Mints a token and adds the grant; every lapsed grant outside its delay goes with it (L14). */
export function addNewGrant(draft: LockDraft, request: NewGrant): Grant {
  reclaimLapsed(draft);
  const grant: Grant = {
    ...request,
    token: draft.mint(),
    expiresAt: draft.now + request.spanMs,
    grantedAt: draft.now,
    change: 0,
  };
  draft.addGrant(grant);
  draft.audit(grantedKind(grant), grant);
  return grant;
}

function reclaimLapsed(draft: LockDraft): void {
  for (const grant of draft.grants) {
    if (isBlocking(draft, grant)) continue;
    if (grant.forced === undefined) draft.endGrant(grant, "reclaimed");
    else dropForced(draft, grant);
  }
}

/** A forced grant has ended when it was forced; only its lock-delay was left to run out. */
export function dropForced(draft: LockDraft, grant: Grant): void {
  draft.hasChanged = true;
  draft.grants = draft.grants.filter((each) => each !== grant);
}

function grantedKind(grant: Grant): "granted" | "claimed" | "resumed" {
  if (grant.kind === "claim") return "claimed";
  return grant.kind === "resumed" ? "resumed" : "granted";
}
