import type { Needs } from "../decision.ts";
import type { RecordKey } from "../key.ts";
import type { Json } from "../scalars.ts";
import { decodePresence } from "./codec.ts";
import type { LockDraft } from "./draft.ts";
import { presenceKey } from "./keys.ts";
import type { PresenceRecord, Ticket } from "./record.ts";
import type { LockScope } from "./scope.ts";
import { hasGivenUp, isPresent, wantsRenewal } from "./validity.ts";

/**
 * Presences inside decisions on a lock (docs/spec/locks.md section 6.3): a ticket lives while its
 * presence lives and its own wait is not over.
 */

/** Writes the deciding space's own presence when it is absent or more than half used. */
export function keepOwnPresence(draft: LockDraft): Needs | undefined {
  const { scope, now, decision } = draft;
  if (decision.keepsPresence) return undefined;
  const key = presenceKey(scope.namespace, scope.presence);
  if (!draft.snapshot.has(key)) return { needs: [key] };
  decision.keepsPresence = true;
  const stored = decodePresence(key, draft.snapshot.get(key));
  if (!wantsRenewal(stored, now, scope.clockErrorMs)) return undefined;
  decision.write(key, presenceOf(scope, now));
  return undefined;
}

export function presenceOf(scope: LockScope, now: number): Json {
  const { actor, presenceMs } = scope;
  const record: PresenceRecord = { v: 1, actor, aliveUntil: now + presenceMs, spanMs: presenceMs };
  return record as unknown as Json;
}

/**
 * Whether a ticket is alive. Asks for its presence, and for those of the tickets behind it in
 * growing numbers, so that a run of dead tickets is found in few rounds and a live one costs one
 * read. The tickets of the deciding space count as present.
 */
export function ticketLiveness(
  draft: LockDraft,
  ticket: Ticket,
  ahead: readonly Ticket[],
): "live" | "dead" | "beyond" | Needs {
  const { scope, now, snapshot, decision } = draft;
  if (hasGivenUp(ticket, now)) return "dead";
  if (ticket.presence === scope.presence) {
    const needs = keepOwnPresence(draft);
    if (needs !== undefined) return needs;
    if (ticket.giveUpAt !== null) draft.relyOn(ticket.giveUpAt);
    return "live";
  }
  const key = presenceKey(scope.namespace, ticket.presence);
  if (!decision.presencesRead.has(ticket.presence)) {
    if (decision.isAtBound && decision.examined > 0) return "beyond";
    if (!snapshot.has(key)) return { needs: nextPresences(draft, [ticket, ...ahead]) };
    decision.presencesRead = new Set(decision.presencesRead).add(ticket.presence);
    decision.widened += 1;
    rebasePresence(draft, key);
  }
  const stored = decodePresence(key, snapshot.get(key));
  if (!isPresent(stored, now, scope.clockErrorMs)) return "dead";
  draft.relyOn((stored as PresenceRecord).aliveUntil + scope.clockErrorMs);
  if (ticket.giveUpAt !== null) draft.relyOn(ticket.giveUpAt);
  return "live";
}

/** A presence whose end is further away than its span is set to now + span (L55). */
function rebasePresence(draft: LockDraft, key: RecordKey): void {
  const stored = decodePresence(key, draft.snapshot.get(key));
  if (stored === undefined) return;
  const { spanMs, aliveUntil } = stored;
  if (aliveUntil <= draft.now + spanMs + draft.scope.clockErrorMs) return;
  draft.decision.write(key, { ...stored, aliveUntil: draft.now + spanMs } as unknown as Json);
}

function nextPresences(draft: LockDraft, tickets: readonly Ticket[]): readonly RecordKey[] {
  const { scope, presencesRead, widened } = draft.decision;
  const room = Math.max(1, scope.wideningMax - widened);
  const most = Math.min(Math.max(1, 7 * presencesRead.size), room);
  const wanted = new Set<string>();
  for (const { presence } of tickets) {
    if (wanted.size >= most) break;
    if (presence !== scope.presence && !presencesRead.has(presence)) wanted.add(presence);
  }
  return [...wanted].map((presence) => presenceKey(scope.namespace, presence));
}
