import type { Needs } from "../decision.ts";
import type { EpochMs, Json } from "../scalars.ts";
import type { AcquireCommand, AskedItem } from "./acquire-command.ts";
import { decodeBatch } from "./codec.ts";
import type { Place, Places } from "./batch.ts";
import type { LockDraft } from "./draft.ts";
import { isOnlyLimited } from "./denial.ts";
import { batchKey } from "./keys.ts";
import { wishOf } from "./new-grant.ts";
import { keepOwnPresence } from "./presence.ts";
import { enqueue, replaceTicket } from "./queue.ts";
import type { BatchRecord, Ticket } from "./record.ts";

/** A ticket outlives its wait by this much, so that the final decision finds it (section 4). */
const giveUpGraceMs = 5_000;

/** Puts a request at the tail of the queues of all its locks, in one commit (L17, L79). */
export function enqueueAll(
  command: AcquireCommand,
  locks: readonly LockDraft[],
  items: readonly AskedItem[],
): readonly Place[] | Needs {
  const [first] = locks as readonly [LockDraft, ...LockDraft[]];
  const needs = keepOwnPresence(first);
  if (needs !== undefined) return needs;
  const places: Place[] = [];
  const missing: Needs["needs"][] = [];
  for (const [index, lock] of locks.entries()) {
    const position = lock.depth;
    const ticket = ticketOf(lock, command, items[index] as AskedItem, items.length);
    const wanted = enqueue(lock, ticket);
    if (wanted !== undefined) missing.push(wanted.needs);
    const page = lock.queue.at(-1) === ticket ? null : (lock.pages?.last ?? null);
    places.push({ lock, found: { ticket, page, position } });
  }
  if (items.length > 1) {
    const key = batchKey(command.scope.namespace, command.id);
    if (!first.snapshot.has(key)) missing.push([key]);
    first.decision.write(key, batchOf(command, places));
  }
  return missing.length > 0 ? { needs: missing.flat() } : places;
}

/**
 * Takes a waiting ticket into the deciding space's presence, in all its queues and in its batch
 * record, at the same place (L15).
 */
export function takeOver({ id, isBatch, list }: Places): Needs | undefined {
  const [first] = list as readonly [Place, ...Place[]];
  const { scope, snapshot, decision } = first.lock;
  const { presence } = scope;
  for (const { lock, found } of list) replaceTicket(lock, found, { ...found.ticket, presence });
  if (isBatch) {
    const key = batchKey(scope.namespace, id);
    const batch = decodeBatch(key, snapshot.get(key));
    if (batch !== undefined) decision.write(key, { ...batch, presence } as unknown as Json);
  }
  return keepOwnPresence(first.lock);
}

function ticketOf(lock: LockDraft, command: AcquireCommand, item: AskedItem, size: number): Ticket {
  return {
    ...wishOf(command),
    mode: item.mode,
    ...(item.for === undefined ? {} : { for: item.for }),
    number: lock.nextTicket,
    enqueuedAt: lock.now,
    ...(isOnlyLimited(lock, { mode: item.mode, permits: command.permits })
      ? { limited: true }
      : {}),
    giveUpAt: giveUpAt(lock.now, command.waitMs),
    presence: command.scope.presence,
    size,
  };
}

/** When a ticket with this wait is dead; null when it waits without limit. */
export function giveUpAt(now: EpochMs, waitMs: number | null): EpochMs | null {
  const end = now + (waitMs ?? Infinity) + giveUpGraceMs;
  return Number.isSafeInteger(end) ? end : null;
}

function batchOf(command: AcquireCommand, places: readonly Place[]): Json {
  const record: BatchRecord = {
    v: 1,
    ticket: command.id,
    presence: command.scope.presence,
    items: places.map(({ lock, found }) => {
      const { number, mode } = found.ticket;
      const sake = found.ticket.for === undefined ? {} : { for: found.ticket.for };
      return { name: lock.name, number, mode, ...sake };
    }),
  };
  return record as unknown as Json;
}
