import type {
  Grant,
  LockRecord,
  Mode,
  PresenceRecord,
  Ticket,
} from "../../src/core/lock/record.ts";

/**
 * The invariants of section 14 that one commit on one lock can break, written from the
 * specification and not from the code: nothing here is imported from the decisions.
 */

/** One commit, as seen from outside. */
export interface Step {
  readonly now: number;
  /** Engine time of the decision, when the commit is later. */
  readonly decidedAt?: number;
  readonly clockErrorMs: number;
  readonly before: LockRecord | undefined;
  readonly after: LockRecord | undefined;
  readonly floorBefore: number;
  readonly floorAfter: number;
  /** The highest token that this lock has ever given out. */
  readonly highest: number;
  /** The presence that decided. */
  readonly by: string;
  readonly presences: ReadonlyMap<string, PresenceRecord>;
  /** Whether the command asks for the end of this grant (release, cancel, force, resume). */
  readonly mayEnd: (grant: Grant) => boolean;
  /** The attempt whose ticket the command gives up, if any. */
  readonly quits: string | null;
  /** The attempt for which the command was made, if any. */
  readonly asks: string | null;
  /** Reclaims and withdrawals that the decision counted, by token. */
  readonly counted: readonly number[];
}

/** The first invariant that a commit breaks, as `I5: why`; null when it breaks none. */
export function brokenBy(step: Step): string | null {
  const { before, after } = step;
  if (after === undefined) return before === undefined ? null : brokenByDeletion(step, before);
  return (
    brokenTokens(step, after) ??
    brokenClaims(step, after) ??
    brokenEnds(step, after) ??
    brokenGrants(step, after) ??
    brokenRemovals(step, after) ??
    brokenIdentity(after)
  );
}

function brokenByDeletion(step: Step, before: LockRecord): string | null {
  if (before.counter > step.floorAfter) return "I3: deleted without raising the floor";
  for (const grant of before.grants) {
    if (blocks(step, grant)) return `I7: the sweep deleted the live grant ${grant.token}`;
    if (grant.forced === undefined && !step.counted.includes(grant.token)) {
      return `I29: the end of grant ${grant.token} was not counted`;
    }
  }
  return before.queue.length > 0 ? "I13: the sweep deleted a ticket" : null;
}

function brokenTokens(step: Step, after: LockRecord): string | null {
  const { before } = step;
  if (step.floorAfter < step.floorBefore) return "I3: the floor was lowered";
  if (before !== undefined && after.counter < before.counter) return "I1: the counter was lowered";
  let last = 0;
  for (const grant of after.grants) {
    if (grant.token <= last) return "I1: tokens of one record do not rise";
    last = grant.token;
    if (grant.token > after.counter) return "I3: a token is above the counter";
    if (isNew(step, grant) && grant.token <= step.highest) return "I1: a token was given twice";
  }
  return null;
}

/** I25: of the claims of one owner id at most one lives, and what it was before is dead. */
function brokenClaims({ now }: Step, after: LockRecord): string | null {
  const live = after.grants.filter(
    ({ kind, expiresAt, forced }) => kind !== "lease" && forced === undefined && now < expiresAt,
  );
  const owners = new Set(live.map(({ owner }) => owner));
  return owners.size === live.length ? null : "I25: two lease ids of one claim live";
}

function brokenEnds(step: Step, after: LockRecord): string | null {
  const { before, now } = step;
  const decidedAt = step.decidedAt ?? now;
  for (const grant of after.grants) {
    const old = earlier(before, grant);
    if (old !== undefined && old.expiresAt === grant.expiresAt) continue;
    if (grant.expiresAt > now + grant.spanMs) return "I31: an end is beyond its span";
    if (old === undefined) continue;
    const steppedBack = old.expiresAt > now + old.spanMs + step.clockErrorMs;
    if (!steppedBack && now >= old.expiresAt && grant.expiresAt > now) {
      return `I8: grant ${grant.token} lives again after its end`;
    }
    if (steppedBack && grant.expiresAt < decidedAt + old.spanMs && !step.mayEnd(grant)) {
      if (step.asks !== grant.id) return `I9: grant ${grant.token} was shortened by a re-base`;
    }
  }
  return null;
}

function brokenGrants(step: Step, after: LockRecord): string | null {
  const fresh = after.grants.filter((grant) => isNew(step, grant));
  const steady = after.grants.filter((grant) => !isNew(step, grant));
  for (const grant of fresh) {
    const others = [...steady, ...fresh.filter((each) => each !== grant)];
    const rival = others.find((each) => conflict(each.mode, grant.mode) && blocks(step, each));
    if (rival !== undefined) return `I4: ${grant.token} was granted beside ${rival.token}`;
    const wronged = (step.before?.grants ?? []).find(
      (each) => conflict(each.mode, grant.mode) && blocks(step, each) && !step.mayEnd(each),
    );
    if (wronged !== undefined) return `I5: ${grant.token} was granted over ${wronged.token}`;
    const broken = brokenOrder(step, after, grant) ?? brokenLiveness(step, grant);
    if (broken !== null) return broken;
  }
  return null;
}

/** I11 and I12: nobody is granted past an earlier live ticket that conflicts. */
function brokenOrder(step: Step, after: LockRecord, grant: Grant): string | null {
  if (grant.kind === "resumed" && isTakenOverAlive(step, grant)) return null;
  const queue = step.before?.queue ?? [];
  const own = queue.findIndex((ticket) => ticket.id === grant.id);
  const ahead = own < 0 ? queue : queue.slice(0, own);
  for (const ticket of ahead) {
    if (!conflict(ticket.mode, grant.mode) || ticket.id === step.quits) continue;
    if (!isAlive(step, ticket)) continue;
    const granted = after.grants.find(({ id }) => id === ticket.id);
    // A ticket granted in this same commit conflicts with the later one: I4 has told already.
    if (granted === undefined) return own < 0 ? "I12: a newcomer passed a ticket" : "I11: passed";
  }
  return null;
}

/** A claim that was live goes on in the lease that it is resumed into: nobody is passed. */
function isTakenOverAlive({ before, now }: Step, { owner }: Grant): boolean {
  const claims = before?.grants.filter((each) => each.kind !== "lease" && each.owner === owner);
  return claims?.some(({ expiresAt, forced }) => forced === undefined && now < expiresAt) === true;
}

function brokenLiveness(step: Step, grant: Grant): string | null {
  if (step.before?.ended.some(({ id }) => id === grant.id) === true) {
    return "I6: an ended attempt was granted";
  }
  const ticket = step.before?.queue.find(({ id }) => id === grant.id);
  if (ticket !== undefined && !isAlive(step, ticket)) return "I6: a dead ticket was granted";
  if (grant.presence !== step.by && grant.state === "held") {
    return "I7: a grant to another presence is held without its word";
  }
  return null;
}

/** I7, I13 and I29: what has gone from the record, and whether it was allowed and counted. */
function brokenRemovals(step: Step, after: LockRecord): string | null {
  const { before } = step;
  if (before === undefined) return null;
  for (const grant of before.grants) {
    const now = after.grants.find(({ token }) => token === grant.token);
    if (now !== undefined && (now.forced === undefined || grant.forced !== undefined)) continue;
    if (grant.forced !== undefined) {
      if (blocks(step, grant) && !step.mayEnd(grant)) return "I5: a lock-delay was cut short";
      continue;
    }
    if (isHeldAlive(step, grant) && !step.mayEnd(grant)) {
      return `I7: the live grant ${grant.token} was ended by a stranger`;
    }
    const ended = after.ended.find(({ id }) => id === grant.id);
    if (ended === undefined && after.ended.length < 4) {
      return `I29: nothing tells how ${grant.token} ended`;
    }
    const isCounted = ended?.how === "reclaimed" || ended?.how === "withdrawn";
    if (isCounted !== step.counted.includes(grant.token)) {
      return `I29: the end of ${grant.token} as ${ended?.how} was counted wrongly`;
    }
  }
  const stands = (token: number): boolean =>
    after.grants.some((grant) => grant.token === token && grant.forced === undefined);
  if (new Set(step.counted).size < step.counted.length || step.counted.some(stands)) {
    return "I29: an end was counted that was not committed";
  }
  for (const ticket of before.queue) {
    if (after.queue.some(({ id }) => id === ticket.id)) continue;
    if (after.grants.some(({ id }) => id === ticket.id) || ticket.id === step.quits) continue;
    if (isAlive(step, ticket)) return "I13: a live ticket was dropped";
  }
  return null;
}

/** I23: an attempt stands in one place at most. */
function brokenIdentity(after: LockRecord): string | null {
  const ids = [...after.grants.map(({ id }) => id), ...after.queue.map(({ id }) => id)];
  return new Set(ids).size === ids.length ? null : "I23: an attempt stands in two places";
}

/**
 * I13 as a property of a state: a live ticket that is grantable although every due look is done.
 * The caller has run those looks before.
 */
export function lostWakeUp(step: Omit<Step, "after">): string | null {
  const record = step.before;
  if (record === undefined) return null;
  const head = record.queue.find((ticket) => isAlive(step as Step, ticket));
  if (head === undefined) return null;
  const isBlocked = record.grants.some(
    (grant) => conflict(grant.mode, head.mode) && blocks(step, grant),
  );
  return isBlocked ? null : `I13: ticket ${head.number} is grantable and nobody notices`;
}

function isNew(step: Step, grant: Grant): boolean {
  return earlier(step.before, grant) === undefined;
}

function earlier(before: LockRecord | undefined, grant: Grant): Grant | undefined {
  return before?.grants.find(({ id, token }) => id === grant.id && token === grant.token);
}

function conflict(one: Mode, other: Mode): boolean {
  return one === "exclusive" || other === "exclusive";
}

/** Live to others, or inside the lock-delay. */
function blocks(
  { now, clockErrorMs }: { readonly now: number; readonly clockErrorMs: number },
  grant: Grant,
): boolean {
  const delayMs = grant.state === "pending" ? 0 : grant.lockDelayMs;
  return now < grant.expiresAt + clockErrorMs + delayMs;
}

function isHeldAlive(step: Step, grant: Grant): boolean {
  return step.now < grant.expiresAt && grant.state === "held";
}

function isAlive(step: Step, ticket: Ticket): boolean {
  if (ticket.giveUpAt !== null && step.now >= ticket.giveUpAt) return false;
  // A look or a repeat of its own keeps a ticket, whatever has become of its presence (L17).
  if (ticket.presence === step.by || ticket.id === step.asks) return true;
  const presence = step.presences.get(ticket.presence);
  return presence !== undefined && step.now < presence.aliveUntil + step.clockErrorMs;
}
