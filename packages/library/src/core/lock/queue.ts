import type { Needs } from "../decision.ts";
import type { RecordKey } from "../key.ts";
import { decodePage } from "./codec.ts";
import type { LockDraft } from "./draft.ts";
import { queueKey } from "./keys.ts";
import { pageTicketsMax, recordTicketsMin, type Ticket } from "./record.ts";

/**
 * The waiting line of one lock (L126).
 *
 * The record holds the tickets of all pages below `pages.first`; later tickets lie in pages of
 * their own, found by number. Only whole pages move into the record, when it is left with few
 * tickets, so what a hand-over reads and writes does not grow with the length of the line. How many
 * tickets the pages hold, and how many of those are exclusive, stands in the record.
 */

export function pageOf(ticketNumber: number): number {
  return Math.floor(ticketNumber / pageTicketsMax);
}

/** Adds a ticket at the tail; its number is `draft.nextTicket`. */
export function enqueue(draft: LockDraft, ticket: Ticket): Needs | undefined {
  const page = pageOf(ticket.number);
  if (draft.pages === undefined && !startsPage(draft, page)) {
    draft.queue.push(ticket);
  } else {
    const key = pageKey(draft, page);
    if (!draft.snapshot.has(key)) return { needs: [key] };
    const pages = draft.pages ?? { first: page, last: page, depth: 0, exclusive: 0 };
    writePage(draft, page, [...readPage(draft, page), ticket]);
    draft.pages = {
      first: pages.first,
      last: page,
      depth: pages.depth + 1,
      exclusive: pages.exclusive + (ticket.mode === "exclusive" ? 1 : 0),
    };
  }
  draft.nextTicket = ticket.number + 1;
  draft.hasChanged = true;
  return undefined;
}

/** Puts an upgrade ticket before all others, or in the place of the one that stands there (L74). */
export function enqueueFirst(draft: LockDraft, ticket: Ticket): void {
  const others = draft.queue.filter(({ upgrades }) => upgrades === undefined);
  draft.queue = [ticket, ...others];
  draft.nextTicket = Math.max(draft.nextTicket, ticket.number + 1);
  draft.hasChanged = true;
}

/** A ticket found, where it stands, and how many tickets may stand before it at most. */
export interface FoundTicket {
  readonly ticket: Ticket;
  /** The page that holds it; null for the record itself. */
  readonly page: number | null;
  readonly position: number;
}

/**
 * Looks for a ticket: in the record, then in the page of its number, or in all pages when its
 * number is not known (`null`).
 */
export function findTicket(
  draft: LockDraft,
  id: string,
  ticketNumber: number | null,
): FoundTicket | Needs | undefined {
  const index = draft.queue.findIndex((ticket) => ticket.id === id);
  if (index >= 0) return { ticket: draft.queue[index] as Ticket, page: null, position: index };
  const { pages } = draft;
  if (pages === undefined) return undefined;
  const candidates =
    ticketNumber === null ? range(pages.first, pages.last) : [pageOf(ticketNumber)];
  const inside = candidates.filter((page) => page >= pages.first && page <= pages.last);
  const needs = inside.map((page) => pageKey(draft, page)).filter(isUnread(draft));
  if (needs.length > 0) return { needs };
  for (const page of inside) {
    const found = readPage(draft, page).findIndex((ticket) => ticket.id === id);
    if (found < 0) continue;
    const before = Math.min(pages.depth - 1, (page - pages.first) * pageTicketsMax + found);
    const ticket = readPage(draft, page)[found] as Ticket;
    return { ticket, page, position: draft.queue.length + before };
  }
  return undefined;
}

/** Every ticket of the queue with its place; asks for all pages. */
export function standingTickets(draft: LockDraft): readonly FoundTicket[] | Needs {
  const { pages } = draft;
  const numbers = pages === undefined ? [] : range(pages.first, pages.last);
  const needs = numbers.map((page) => pageKey(draft, page)).filter(isUnread(draft));
  if (needs.length > 0) return { needs };
  const inRecord = draft.queue.map((ticket) => ({ ticket, page: null }));
  const inPages = numbers.flatMap((page) =>
    readPage(draft, page).map((ticket) => ({ ticket, page })),
  );
  return [...inRecord, ...inPages].map((place, position) => ({ ...place, position }));
}

/** Whether a ticket of this number may stand in a page that was not read. */
export function mayStandInPages(draft: LockDraft, ticketNumber: number): boolean {
  return draft.pages !== undefined && pageOf(ticketNumber) >= draft.pages.first;
}

/** Takes a found ticket out of the queue; the page it stands in has been read to find it. */
export function removeTicket(draft: LockDraft, found: FoundTicket): void {
  draft.hasChanged = true;
  (draft.gone ??= new Set()).add(found.ticket.id);
  draft.stirBy(found.ticket.mode);
  if (found.page === null) {
    draft.queue = draft.queue.filter((ticket) => ticket.id !== found.ticket.id);
    return;
  }
  const rest = readPage(draft, found.page).filter((ticket) => ticket.id !== found.ticket.id);
  writePage(draft, found.page, rest);
  countOut(draft, [found.ticket]);
}

/** Takes many found tickets out; every page is written once. */
export function removeTickets(draft: LockDraft, found: readonly FoundTicket[]): void {
  if (found.length === 0) return;
  draft.hasChanged = true;
  const gone = new Set(found.map(({ ticket }) => ticket.id));
  draft.gone = gone;
  for (const { ticket } of found) draft.stirBy(ticket.mode);
  const isLeft = (ticket: Ticket): boolean => !gone.has(ticket.id);
  draft.queue = draft.queue.filter(isLeft);
  const inPages = found.filter(({ page }) => page !== null);
  for (const page of new Set(inPages.map((each) => each.page as number))) {
    writePage(draft, page, readPage(draft, page).filter(isLeft));
  }
  countOut(
    draft,
    inPages.map(({ ticket }) => ticket),
  );
}

/** Puts a changed ticket in the place of the found one. */
export function replaceTicket(draft: LockDraft, found: FoundTicket, ticket: Ticket): void {
  draft.hasChanged = true;
  const replace = (each: Ticket): Ticket => (each.id === ticket.id ? ticket : each);
  if (found.page === null) draft.queue = draft.queue.map(replace);
  else writePage(draft, found.page, readPage(draft, found.page).map(replace));
}

/** Moves whole pages into the record while it holds few tickets and pages are left. */
export function refill(draft: LockDraft): Needs | undefined {
  while (draft.pages !== undefined && draft.queue.length < recordTicketsMin) {
    const { first, last, depth } = draft.pages;
    if (depth <= 0 || first > last) {
      draft.pages = undefined;
      draft.hasChanged = true;
      return undefined;
    }
    const key = pageKey(draft, first);
    if (!draft.snapshot.has(key)) return { needs: [key] };
    const tickets = readPage(draft, first);
    draft.queue.push(...tickets);
    draft.pages = { ...draft.pages, first: first + 1 };
    draft.hasChanged = true;
    if (tickets.length > 0) writePage(draft, first, []);
    countOut(draft, tickets);
  }
  return undefined;
}

function startsPage(draft: LockDraft, page: number): boolean {
  const last = draft.queue.at(-1);
  if (last === undefined || draft.queue.length < recordTicketsMin) return false;
  return page > pageOf(last.number);
}

export function pageKey(draft: LockDraft, page: number): RecordKey {
  const { namespace, part } = draft.scope;
  return queueKey(namespace, draft.name, page, part);
}

export function readPage(draft: LockDraft, page: number): readonly Ticket[] {
  const written = draft.pageWrites.get(page);
  if (written !== undefined) return written;
  const key = pageKey(draft, page);
  return decodePage(key, draft.snapshot.get(key)).tickets;
}

function writePage(draft: LockDraft, page: number, tickets: readonly Ticket[]): void {
  draft.pageWrites = new Map(draft.pageWrites).set(page, tickets);
}

function countOut(draft: LockDraft, tickets: readonly Ticket[]): void {
  const { pages } = draft;
  if (pages === undefined) return;
  const depth = pages.depth - tickets.length;
  const exclusive = pages.exclusive - tickets.filter((each) => each.mode === "exclusive").length;
  draft.pages = depth <= 0 ? undefined : { ...pages, depth, exclusive };
}

function isUnread(draft: LockDraft): (key: RecordKey) => boolean {
  return (key) => !draft.snapshot.has(key);
}

function range(first: number, last: number): readonly number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}
