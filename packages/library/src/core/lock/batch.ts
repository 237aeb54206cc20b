import type { Needs } from "../decision.ts";
import { decodeBatch } from "./codec.ts";
import type { LockDraft } from "./draft.ts";
import { endOver } from "./ending.ts";
import { batchKey } from "./keys.ts";
import { findTicket, removeTicket, type FoundTicket } from "./queue.ts";

/** A ticket on one of its locks. */
export interface Place {
  readonly lock: LockDraft;
  readonly found: FoundTicket;
}

/** A ticket in all of its queues. */
export interface Places {
  readonly id: string;
  /** The ticket of a single lock has no record of its parts. */
  readonly isBatch: boolean;
  /** In the order in which the locks were asked for. */
  readonly list: readonly Place[];
  /** False when a part has gone: then the ticket is dead everywhere (6.3, I15). */
  readonly isWhole: boolean;
}

/** Where a ticket of one lock stands; asks for its other locks when it is one of a batch. */
export function placesOf(lock: LockDraft, found: FoundTicket): Places | Needs {
  const { id, size } = found.ticket;
  if (size <= 1) return { id, isBatch: false, list: [{ lock, found }], isWhole: true };
  const { decision, snapshot, scope } = lock;
  const key = batchKey(scope.namespace, id);
  if (!snapshot.has(key)) return { needs: [key] };
  const batch = decodeBatch(key, snapshot.get(key));
  if (batch === undefined) return { id, isBatch: true, list: [{ lock, found }], isWhole: false };
  const before = decision.locks.length;
  const locks = decision.open(batch.items.map(({ name }) => name));
  if ("needs" in locks) return locks;
  decision.widened += decision.locks.length - before + 1;
  for (const opened of decision.locks.slice(before)) endOver(opened);
  const list: Place[] = [];
  const missing: Needs["needs"][] = [];
  for (const [index, { number }] of batch.items.entries()) {
    const each = locks[index] as LockDraft;
    const place = each === lock ? found : findTicket(each, id, number);
    if (place === undefined) continue;
    if ("needs" in place) missing.push(place.needs);
    else list.push({ lock: each, found: place });
  }
  if (missing.length > 0) return { needs: missing.flat() };
  return { id, isBatch: true, list, isWhole: list.length === batch.items.length };
}

/**
 * Removes a ticket that is dead, timed out or cancelled from all its queues, and its batch record
 * with it (L133). Its attempt is remembered nowhere: nobody waits for it (L21).
 */
export function passOver({ id, isBatch, list }: Places): Needs | undefined {
  for (const { lock, found } of list) removeTicket(lock, found);
  const [first] = list;
  if (!isBatch || first === undefined) return undefined;
  return dropBatch(first.lock, id);
}

/** Deletes the record of a batch that waits no more. */
export function dropBatch({ decision, snapshot, scope }: LockDraft, id: string): Needs | undefined {
  const key = batchKey(scope.namespace, id);
  if (!snapshot.has(key)) return { needs: [key] };
  if (snapshot.get(key) !== undefined) decision.write(key, null);
  return undefined;
}
