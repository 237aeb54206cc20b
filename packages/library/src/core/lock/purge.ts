import type { Needs } from "../decision.ts";
import type { RecordKey } from "../key.ts";
import { decodePresence } from "./codec.ts";
import type { LockDraft } from "./draft.ts";
import { presenceKey } from "./keys.ts";
import { passOver, placesOf } from "./batch.ts";
import { removeTickets, standingTickets, type FoundTicket } from "./queue.ts";
import type { Ticket } from "./record.ts";
import { hasGivenUp, isPresent } from "./validity.ts";

/**
 * Removes dead tickets from the whole of a full queue, wherever they stand (L34).
 *
 * It reads every page and as many presences as the widening bound allows; a queue that is full of
 * living tickets costs this much for each newcomer, which is then refused.
 */
export function purgeDead(draft: LockDraft): Needs | undefined {
  const standing = standingTickets(draft);
  if (!Array.isArray(standing)) return standing as Needs;
  const { scope, snapshot } = draft;
  const others = new Set<string>();
  for (const { ticket } of standing) {
    if (others.size >= scope.wideningMax) break;
    if (ticket.presence !== scope.presence) others.add(ticket.presence);
  }
  const unread = [...others].map(keyOf).filter((key) => !snapshot.has(key));
  if (unread.length > 0) return { needs: unread };
  const gone = new Set([...others].filter((presence) => !isAlive(presence)));
  const dead = standing.filter(({ ticket }) => isDead(ticket));
  removeTickets(
    draft,
    dead.filter(({ ticket }) => ticket.size <= 1),
  );
  return passOverBatches(
    draft,
    dead.filter(({ ticket }) => ticket.size > 1),
  );

  function keyOf(presence: string): RecordKey {
    return presenceKey(scope.namespace, presence);
  }
  function isAlive(presence: string): boolean {
    const key = keyOf(presence);
    return isPresent(decodePresence(key, snapshot.get(key)), draft.now, scope.clockErrorMs);
  }
  function isDead(ticket: Ticket): boolean {
    return gone.has(ticket.presence) || hasGivenUp(ticket, draft.now);
  }
}

/** The batches among them leave all their queues (L133), as many as the widening bound allows. */
function passOverBatches(draft: LockDraft, dead: readonly FoundTicket[]): Needs | undefined {
  for (const found of dead) {
    if (draft.decision.isAtBound) return undefined;
    const places = placesOf(draft, found);
    if ("needs" in places) return places;
    const needs = passOver(places);
    if (needs !== undefined) return needs;
  }
  return undefined;
}
