import type { Decision, Needs, Snapshot } from "../decision.ts";
import { endOver, walk } from "./advance.ts";
import { LockDraft, type Outcome } from "./draft.ts";
import { grantOf } from "./own-grant.ts";
import { findTicket, removeTicket } from "./queue.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";

export interface CancelCommand {
  readonly scope: LockScope;
  readonly name: string;
  /** The attempt that is given up. */
  readonly id: string;
  /** Its ticket number; null when none was ever answered. */
  readonly number: number | null;
}

export interface CancelResult {
  /** What was ended; `foreign` when the attempt has gone on under another presence (L130). */
  readonly ended: "ticket" | "grant" | "nothing" | "foreign";
}

/**
 * Gives an attempt up: its ticket or grant goes, and its id is remembered as cancelled, so that a
 * commit of the same attempt which is still under way is refused (6.6, L16, L27, L128).
 */
export function decideCancel(
  snapshot: Snapshot,
  command: CancelCommand,
): Decision<Outcome<CancelResult>> {
  const draft = LockDraft.open(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  endOver(draft);
  const ended = end(draft, command);
  if (typeof ended !== "string") return ended;
  draft.hasChanged = true;
  return walk(draft, false) ?? finish(draft, { ended });
}

function end(draft: LockDraft, command: CancelCommand): CancelResult["ended"] | Needs {
  const { id, number, scope } = command;
  const grant = grantOf(draft, id);
  if (grant !== undefined) {
    if (grant.presence !== scope.presence) return "foreign";
    // A barred entry has ended when it was forced, and keeps its lock-delay (L57).
    if (grant.forced !== undefined) return "nothing";
    draft.endGrant(grant, "cancelled");
    return "grant";
  }
  const found = findTicket(draft, id, number);
  if (found !== undefined && "needs" in found) return found;
  if (found !== undefined && found.ticket.presence !== scope.presence) return "foreign";
  if (found !== undefined) removeTicket(draft, found);
  if (draft.endedOf(id) === undefined) {
    draft.remember({ id, token: 0, how: "cancelled", at: draft.now });
  }
  return found === undefined ? "nothing" : "ticket";
}
