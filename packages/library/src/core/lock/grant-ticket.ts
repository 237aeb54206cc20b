import type { Needs } from "../decision.ts";
import { dropBatch, type Places } from "./batch.ts";
import { batchFacts } from "./facts.ts";
import type { LockDraft } from "./draft.ts";
import { presenceKey } from "./keys.ts";
import { addNewGrant } from "./new-grant.ts";
import { removeTicket } from "./queue.ts";
import type { Grant, Ticket } from "./record.ts";
import { upgradeGrant } from "./upgrade-grant.ts";

/**
 * Turns a ticket into a grant on all its locks: held at once for a ticket of the deciding space,
 * pending until confirmed for any other (L22, L78). The commit tells the other presence.
 */
export function grantTicket({ id, isBatch, list }: Places): Needs | undefined {
  const [first] = list;
  if (first === undefined) return undefined;
  const { decision, scope } = first.lock;
  const { ticket } = first.found;
  const isOwn = ticket.presence === scope.presence;
  const parts = list.map(({ lock, found }) => {
    const { stir } = lock;
    removeTicket(lock, found);
    // What stood behind the ticket now stands behind its grant.
    lock.stir = stir;
    return { name: lock.name, grant: grantOn(lock, found.ticket, isOwn) };
  });
  if (isOwn) decision.tellGranted({ ...batchFacts(parts), id });
  else decision.hint(presenceKey(scope.namespace, ticket.presence));
  return isBatch ? dropBatch(first.lock, id) : undefined;
}

function grantOn(lock: LockDraft, ticket: Ticket, isOwn: boolean): Grant {
  if (ticket.upgrades !== undefined) return upgradeGrant(lock, ticket.upgrades);
  const spanMs = isOwn ? ticket.leaseMs : lock.scope.confirmMs;
  const { id, kind, mode, owner, actor, note, value, leaseMs, lockDelayMs, size, presence } =
    ticket;
  return addNewGrant(lock, {
    id,
    kind,
    state: isOwn ? "held" : "pending",
    mode: ticket.permits === undefined ? mode : "shared",
    ...(ticket.permits === undefined ? {} : { permits: ticket.permits }),
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
}
