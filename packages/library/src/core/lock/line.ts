import type { Needs } from "../decision.ts";
import type { LockDraft } from "./draft.ts";
import { pageKey, pageOf, readPage } from "./queue.ts";
import type { FoundTicket } from "./queue.ts";
import { pageTicketsMax, type Ticket } from "./record.ts";

/**
 * The waiting tickets of one lock in order, from a number on, read page by page as the walk goes
 * on. Tickets that the decision takes out meanwhile are left out.
 */
export class Line {
  readonly #draft: LockDraft;
  #tickets: readonly Ticket[];
  #page: number | null = null;
  #index = 0;
  /** Pages were left out because their tickets have been seen to. */
  readonly startsBehind: boolean;

  constructor(draft: LockDraft, from: number) {
    this.#draft = draft;
    this.#tickets = draft.queue;
    const { pages } = draft;
    const first = pageOf(from);
    this.startsBehind = pages !== undefined && first > pages.first;
    if (this.startsBehind) this.#page = first - 1;
  }

  /** The tickets behind the one that was given last, as far as they have been read. */
  get ahead(): readonly Ticket[] {
    return this.#tickets.slice(this.#index);
  }

  /** Whether anything stands behind the ticket that was given last. */
  get hasFollower(): boolean {
    return this.#index < this.#tickets.length || this.#nextPage !== undefined;
  }

  /** Number from which on nothing has been given yet, once the read tickets are used up. */
  get nextNumber(): number {
    const page = this.#nextPage;
    return page === undefined ? this.#draft.nextTicket : page * pageTicketsMax;
  }

  /** Whether the next ticket is one that has been read. */
  get isAtPageEnd(): boolean {
    return this.#index >= this.#tickets.length;
  }

  /** The next ticket with its place; undefined at the end, or where the next page is unread. */
  next(): FoundTicket | Needs | undefined {
    for (;;) {
      while (this.#index < this.#tickets.length) {
        const ticket = this.#tickets[this.#index] as Ticket;
        this.#index += 1;
        if (this.#draft.gone?.has(ticket.id) === true) continue;
        return { ticket, page: this.#page, position: this.#index - 1 };
      }
      const page = this.#nextPage;
      if (page === undefined) return undefined;
      const key = pageKey(this.#draft, page);
      if (!this.#draft.snapshot.has(key)) return { needs: [key] };
      this.#page = page;
      this.#draft.decision.widened += 1;
      this.#tickets = readPage(this.#draft, page);
      this.#index = 0;
    }
  }

  get #nextPage(): number | undefined {
    const { pages } = this.#draft;
    if (pages === undefined) return undefined;
    const next = this.#page === null ? pages.first : this.#page + 1;
    return next <= pages.last ? next : undefined;
  }
}
