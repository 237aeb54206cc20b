import type { Decision, Snapshot } from "../decision.ts";
import type { FencingToken } from "../scalars.ts";
import { endOver } from "./ending.ts";
import { openLock } from "./draft.ts";
import { type Outcome } from "./outcome.ts";
import { LockDraft } from "./draft.ts";
import type { Grant } from "./record.ts";
import type { LockScope } from "./scope.ts";
import { finish } from "./settle.ts";
import { walkAll } from "./walk.ts";

export interface ForceCommand {
  readonly scope: LockScope;
  readonly name: string;
  /** Only the grant with this token; null for all grants. */
  readonly token: FencingToken | null;
  readonly reason: string;
  /** Skip the lock-delay of what is ended, also of what was ended before. */
  readonly isWithoutDelay: boolean;
  /** What an earlier attempt of this call may have ended: it counts as ended by this one (6.6). */
  readonly earlier?: ForceResult["ended"] | undefined;
}

export interface ForceResult {
  readonly ended: readonly { readonly token: FencingToken; readonly owner: string }[];
}

/**
 * Ends grants by an administrator's word, with actor and reason in the record and in the audit, and
 * grants the successor in the same commit (L20, L110). A grant with a lock-delay stays in the
 * record, barred, until the delay is over (L57). Nothing changes when no grant matches.
 */
export function decideForce(
  snapshot: Snapshot,
  command: ForceCommand,
): Decision<Outcome<ForceResult>> {
  const draft = openLock(snapshot, command.scope, command.name);
  if (!(draft instanceof LockDraft)) return draft;
  endOver(draft);
  const targets = draft.grants.filter(
    ({ token, forced }) =>
      (command.token === null || token === command.token) &&
      (forced === undefined || command.isWithoutDelay),
  );
  for (const grant of targets) force(draft, grant, command);
  const needs = walkAll(draft.decision);
  const ended = targets.map(({ token, owner }) => ({ token, owner }));
  const before = (command.earlier ?? []).filter((each) => wasForcedBefore(draft, each.token));
  return needs ?? finish(draft, { ended: [...before, ...ended] });
}

/** Whether a grant that was to be forced is over, and nothing says that it ended otherwise. */
function wasForcedBefore(draft: LockDraft, token: FencingToken): boolean {
  if (draft.grants.some((grant) => grant.token === token && grant.forced === undefined)) {
    return false;
  }
  const known = draft.ended.find((each) => each.token === token);
  return known === undefined || known.how === "forced";
}

function force(draft: LockDraft, grant: Grant, command: ForceCommand): void {
  if (grant.forced !== undefined) {
    draft.dropGrant(grant);
    return;
  }
  const by = command.scope.actor;
  const { reason, isWithoutDelay } = command;
  draft.endGrant(grant, "forced", { by, reason });
  if (isWithoutDelay || grant.lockDelayMs === 0 || grant.state === "pending") return;
  draft.addGrant({ ...grant, expiresAt: draft.now, forced: { by, reason } });
  draft.grants.sort((one, other) => one.token - other.token);
}
