import type { Needs } from "../decision.ts";
import { blockersOf, isAtHolderLimit, isBlocking } from "./blocking.ts";
import { passOver, placesOf, type Place } from "./batch.ts";
import type { DecisionDraft } from "./draft.ts";
import type { LockDraft, Stir } from "./draft.ts";
import { hasLiveLease } from "./ending.ts";
import { grantTicket } from "./grant-ticket.ts";
import { Line } from "./line.ts";
import { ticketLiveness } from "./presence.ts";
import { replaceTicket, type FoundTicket } from "./queue.ts";
import type { Mode, Ticket } from "./record.ts";

/**
 * For whom a walk is made beside those whom an end has made grantable: the own tickets of a look,
 * or a newcomer, whose place is behind all. What keeps these back has to be looked at (L132).
 */
export interface Wanted {
  readonly ids: ReadonlySet<string>;
  /** The highest numbers of such exclusive and shared requests; -1 for none. */
  readonly exclusiveTo: number;
  readonly sharedTo: number;
}

const nobody: Wanted = { ids: new Set(), exclusiveTo: -1, sharedTo: -1 };

const newcomers: Readonly<Record<Mode, Wanted>> = {
  exclusive: { ...nobody, exclusiveTo: Infinity },
  shared: { ...nobody, sharedTo: Infinity },
};

/** A newcomer of this mode. */
export function newcomer(mode: Mode): Wanted {
  return newcomers[mode];
}

/** Waiting tickets of a lock; where a ticket stands in the record counts before what is said. */
export function waiters(
  lock: LockDraft,
  tickets: readonly { readonly id: string; readonly number: number; readonly mode: Mode }[],
): Wanted {
  const ids = new Set(tickets.map(({ id }) => id));
  const standing = [...tickets, ...lock.queue.filter(({ id }) => ids.has(id))];
  const highest = (mode: Mode): number =>
    standing.reduce((most, each) => (each.mode === mode ? Math.max(most, each.number) : most), -1);
  return { ids, exclusiveTo: highest("exclusive"), sharedTo: highest("shared") };
}

/** Examines every ticket of a queue from a number on, for what a walk has left over. */
export function walkOn(lock: LockDraft, from: number): Needs | undefined {
  lock.stir = "all";
  lock.hasFreedHolder = true;
  return walkLock(lock, nobody, from) ?? walkAll(lock.decision);
}

/** Walks the queue of every lock of the decision on which something has ended. */
export function walkAll(decision: DecisionDraft): Needs | undefined {
  // Bounded: each turn settles what has ended, and what a walk ends is a ticket the fewer.
  for (let isDone = false; !isDone;) {
    isDone = true;
    for (const lock of decision.locks) {
      if (lock.stir === "none" && !lock.hasFreedHolder) continue;
      isDone = false;
      const needs = walkLock(lock, nobody);
      if (needs !== undefined) return needs;
    }
  }
  return undefined;
}

/** What became of an examined ticket. */
type Verdict = "out" | "kept" | "end";

/** Grants and passes over tickets of one lock, from a number on (L18, L19, L21). */
export function walkLock(lock: LockDraft, wanted: Wanted, from = 0): Needs | undefined {
  if (lock.queue.length === 0 && lock.pages === undefined) {
    lock.stir = "none";
    lock.hasFreedHolder = false;
    return undefined;
  }
  return new Walk(lock, wanted, from).run();
}

class Walk {
  readonly #lock: LockDraft;
  readonly #wanted: Wanted;
  readonly #from: number;
  readonly #line: Line;
  #stir: Stir;
  #hasFreedHolder: boolean;
  /** A ticket stays that is not known to be dead, so no exclusive one behind it may go. */
  #isAnyKept: boolean;

  constructor(lock: LockDraft, wanted: Wanted, from: number) {
    this.#lock = lock;
    this.#wanted = wanted;
    this.#from = from;
    this.#line = new Line(lock, from);
    this.#isAnyKept = this.#line.startsBehind;
    this.#stir = lock.stir;
    this.#hasFreedHolder = lock.hasFreedHolder;
    lock.stir = "none";
    lock.hasFreedHolder = false;
  }

  run(): Needs | undefined {
    // A live exclusive grant keeps everybody out: nothing needs to be read.
    if (this.#lock.grants.some((grant) => this.#keepsAllOut(grant))) return undefined;
    // Bounded by the tickets of the queue.
    for (;;) {
      if (this.#line.isAtPageEnd && !this.#isMoreOfInterest()) return undefined;
      const found = this.#line.next();
      if (found === undefined || "needs" in found) return this.#pageDue(found);
      const verdict = this.#see(found);
      if (typeof verdict !== "string") return verdict;
      if (verdict === "end") return undefined;
      if (verdict === "kept") this.#isAnyKept = true;
    }
  }

  #keepsAllOut(grant: LockDraft["grants"][number]): boolean {
    return grant.mode === "exclusive" && isBlocking(this.#lock, grant);
  }

  /** Reads the next page if the bound allows, and leaves the rest over otherwise (L131). */
  #pageDue(found: Needs | undefined): Needs | undefined {
    if (found === undefined) return undefined;
    const { decision, name } = this.#lock;
    if (!decision.isAtBound || decision.examined === 0) return found;
    decision.leaveOver(name, this.#line.nextNumber);
    return undefined;
  }

  #isMoreOfInterest(): boolean {
    if (this.#stir === "all") return true;
    const { exclusiveTo, sharedTo } = this.#wanted;
    const next = this.#line.nextNumber;
    if (sharedTo >= next) return true;
    return !this.#isAnyKept && (this.#stir !== "none" || exclusiveTo >= next);
  }

  #see(found: FoundTicket): Verdict | Needs {
    const { ticket } = found;
    if (ticket.number < this.#from && ticket.upgrades === undefined) {
      return ticket.mode === "exclusive" ? "end" : "kept";
    }
    // A wish to upgrade ends with its lease, also when this very decision has ended that.
    if (ticket.upgrades !== undefined && !hasLiveLease(this.#lock, ticket.upgrades)) {
      return this.#passOver(found);
    }
    const isExclusive = ticket.mode === "exclusive";
    if (!this.#isOfInterest(ticket)) return isExclusive ? "end" : "kept";
    const isOut = isExclusive && (this.#isAnyKept || blockersOf(this.#lock, ticket).length > 0);
    // Its death would matter to those behind it alone.
    if (isOut && !this.#isFollowed(ticket)) return "end";
    const { decision, name } = this.#lock;
    // A shrink has made it impossible: its call is told so when it asks anew (L105).
    if ((ticket.permits ?? 0) > (this.#lock.limit ?? Infinity)) return this.#passOver(found);
    const liveness = ticketLiveness(this.#lock, ticket, this.#line.ahead);
    if (typeof liveness !== "string") return liveness;
    if (liveness === "beyond") {
      decision.leaveOver(name, ticket.number);
      return "end";
    }
    decision.examined += 1;
    if (liveness === "dead") return this.#passOver(found);
    if (isOut) return "end";
    return this.#admit(found);
  }

  /** Whether it may have become grantable, or keeps back one for whom the walk is made. */
  #isOfInterest(ticket: Ticket): boolean {
    const { id, mode, size, limited } = ticket;
    const { ids, exclusiveTo, sharedTo } = this.#wanted;
    const number = placeOf(ticket);
    if (this.#stir === "all" || ids.has(id)) return true;
    // Nothing but its death or a bound that was reached before can have left it here.
    if (mode === "shared" && size <= 1) return true;
    if (limited === true && this.#hasFreedHolder) return true;
    if (mode === "exclusive" && sharedTo > number) return true;
    if (this.#isAnyKept) return false;
    return exclusiveTo > number || (mode === "exclusive" && this.#stir !== "none");
  }

  /** Whether the death of an exclusive ticket that cannot go would let another in. */
  #isFollowed(ticket: Ticket): boolean {
    if (this.#wanted.sharedTo > placeOf(ticket)) return true;
    return this.#stir === "all" && this.#line.hasFollower;
  }

  #passOver(found: FoundTicket): Verdict | Needs {
    const places = placesOf(this.#lock, found);
    if ("needs" in places) return places;
    const needs = passOver(places);
    return needs ?? this.#mergeStir();
  }

  /** Grants a live ticket that its own lock does not keep back, if no other lock does. */
  #admit(found: FoundTicket): Verdict | Needs {
    const { ticket } = found;
    const { decision, name } = this.#lock;
    if (ticket.size > 1 && decision.isAtBound && decision.examined > 1) {
      decision.leaveOver(name, ticket.number);
      return "end";
    }
    const places = placesOf(this.#lock, found);
    if ("needs" in places) return places;
    if (!places.isWhole) {
      const needs = passOver(places);
      return needs ?? this.#mergeStir();
    }
    for (const place of places.list) {
      const verdict = this.#holdsBack(place);
      if (typeof verdict !== "string") return verdict;
      if (verdict === "yes") {
        if (place.lock !== this.#lock) {
          (decision.heldBack ??= new Map()).set(ticket.id, place.lock.name);
        }
        return ticket.mode === "exclusive" ? "end" : "kept";
      }
      if (verdict === "limit") return "end";
    }
    if (places.list.some(({ lock }) => !lock.canMint)) return "end";
    const needs = grantTicket(places);
    if (needs !== undefined) return needs;
    this.#mergeStir();
    // It kept back all that stand behind it, whatever their mode (L134).
    if (ticket.limited === true) this.#stir = "all";
    return ticket.mode === "exclusive" && ticket.permits === undefined ? "end" : "out";
  }

  /** Whether a lock of the ticket keeps it back; its own has been asked for grants already. */
  #holdsBack(place: Place): "no" | "yes" | "limit" | Needs {
    const { lock, found } = place;
    const { ticket } = found;
    if (blockersOf(lock, ticket).length > 0) return "yes";
    if (lock !== this.#lock) {
      const isBehind = isAnyAlive(lock, ticket);
      if (typeof isBehind !== "boolean") return isBehind;
      if (isBehind) return "yes";
    }
    if (!isAtHolderLimit(lock, ticket)) return "no";
    if (ticket.limited !== true) replaceTicket(lock, found, { ...ticket, limited: true });
    return lock === this.#lock ? "limit" : "yes";
  }

  /** What was taken out here stirs those behind it, which this walk comes to anyway. */
  #mergeStir(): Verdict {
    const { stir } = this.#lock;
    if (stir === "all" || (stir === "exclusive" && this.#stir === "none")) this.#stir = stir;
    this.#lock.stir = "none";
    return "out";
  }
}

/** A wish to upgrade stands before all tickets, whatever its number (L74). */
function placeOf({ number, upgrades }: Ticket): number {
  return upgrades === undefined ? number : 0;
}

/** Whether a ticket waits that is alive, or could not be judged; dead ones go (L90). */
export function hasLiveWaiter(lock: LockDraft): boolean | Needs {
  return isAnyAlive(lock, { id: null, mode: "exclusive" });
}

/**
 * Whether a live ticket, or one that could not be judged, stands before a place and conflicts with
 * it; dead ones are passed over on the way.
 */
function isAnyAlive(
  lock: LockDraft,
  behind: { readonly id: string | null; readonly mode: Mode },
): boolean | Needs {
  const line = new Line(lock, 0);
  // Bounded by the place, or by the end of the queue.
  for (;;) {
    const isOnlyShared = (lock.pages?.exclusive ?? 0) === 0;
    if (line.isAtPageEnd && behind.mode === "shared" && isOnlyShared) return false;
    const earlier = line.next();
    if (earlier === undefined) return false;
    if ("needs" in earlier) return earlier;
    const { ticket } = earlier;
    if (ticket.id === behind.id) return false;
    if (ticket.mode === "shared" && behind.mode === "shared") continue;
    const liveness = ticketLiveness(lock, ticket, line.ahead);
    if (typeof liveness !== "string") return liveness;
    if (liveness === "beyond") lock.decision.leaveOver(lock.name, ticket.number);
    if (liveness !== "dead") return true;
    const places = placesOf(lock, earlier);
    if ("needs" in places) return places;
    const needs = passOver(places);
    if (needs !== undefined) return needs;
  }
}
