import type { Decision, Needs, Snapshot } from "../decision.ts";
import { endOver } from "./ending.ts";
import { passOver, placesOf } from "./batch.ts";
import { DecisionDraft } from "./draft.ts";
import { type Outcome } from "./outcome.ts";
import type { LockDraft } from "./draft.ts";
import { grantOf } from "./own-grant.ts";
import { findTicket, type FoundTicket } from "./queue.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import { walkAll } from "./walk.ts";

export interface CancelCommand {
  readonly scope: LockScope;
  readonly name: string;
  /** The attempt that is given up. */
  readonly id: string;
  /** Its ticket number; null when none was ever answered. */
  readonly number: number | null;
  /** The further locks of a batch. */
  readonly also?: readonly string[] | undefined;
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
  const { scope, name, also = [] } = command;
  const decision = new DecisionDraft(snapshot, scope);
  const locks = decision.open([name, ...also]);
  if ("needs" in locks) return locks;
  for (const lock of locks) endOver(lock);
  const ended = end(locks, command);
  if (typeof ended !== "string") return ended;
  for (const lock of locks) lock.hasChanged = true;
  return walkAll(decision) ?? finish({ decision }, { ended });
}

function end(locks: readonly LockDraft[], command: CancelCommand): CancelResult["ended"] | Needs {
  const { id, number, scope } = command;
  const [first] = locks as readonly [LockDraft, ...LockDraft[]];
  const grants = locks.flatMap((lock) => {
    const grant = grantOf(lock, id);
    return grant === undefined ? [] : [{ lock, grant }];
  });
  if (grants.some(({ grant }) => grant.presence !== scope.presence)) return "foreign";
  // A barred entry has ended when it was forced, and keeps its lock-delay (L57).
  const standing = grants.filter(({ grant }) => grant.forced === undefined);
  for (const { lock, grant } of standing) lock.endGrant(grant, "cancelled");
  if (grants.length > 0) return standing.length > 0 ? "grant" : "nothing";
  const found = findTicket(first, id, number);
  if (found !== undefined && "needs" in found) return found;
  if (found !== undefined && found.ticket.presence !== scope.presence) return "foreign";
  const left = found === undefined ? undefined : leave(first, found);
  if (left !== undefined) return left;
  for (const lock of locks) {
    if (lock.endedOf(id) !== undefined) continue;
    lock.remember({ id, token: 0, how: "cancelled", at: lock.now });
  }
  return found === undefined ? "nothing" : "ticket";
}

/** Takes a found ticket out of all its queues (L133). */
function leave(lock: LockDraft, found: FoundTicket): Needs | undefined {
  const places = placesOf(lock, found);
  return "needs" in places ? places : passOver(places);
}
