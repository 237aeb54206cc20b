import type { AcquireCommand } from "./acquire-command.ts";
import { isBlocking } from "./blocking.ts";
import type { LockDraft } from "./draft.ts";
import type { Grant, Ticket } from "./record.ts";

export type NewGrant = Omit<Grant, "token" | "expiresAt" | "grantedAt" | "change">;

/** Mints a token and adds the grant; every lapsed grant outside its delay goes with it (L14). */
export function addNewGrant(draft: LockDraft, request: NewGrant): Grant {
  reclaimLapsed(draft);
  const grant: Grant = {
    ...request,
    token: draft.mint(),
    expiresAt: draft.now + request.spanMs,
    grantedAt: draft.now,
    change: 0,
    ...slotsFor(draft, request),
  };
  draft.addGrant(grant);
  draft.audit(grantedKind(grant), grant);
  return grant;
}

export function reclaimLapsed(draft: LockDraft): void {
  for (const grant of draft.grants) {
    if (isBlocking(draft, grant)) continue;
    if (grant.forced === undefined) draft.endGrant(grant, "reclaimed");
    else draft.dropGrant(grant);
  }
}

/** The lowest free places of a semaphore, one for each permit (L105). */
function slotsFor(draft: LockDraft, { permits }: NewGrant): Pick<Grant, "slots"> {
  if (permits === undefined) return {};
  const taken = new Set(draft.grants.flatMap(({ slots = [] }) => slots));
  const slots: number[] = [];
  for (let slot = 0; slots.length < permits; slot += 1) if (!taken.has(slot)) slots.push(slot);
  return { slots };
}

function grantedKind(grant: Grant): "granted" | "claimed" | "resumed" {
  if (grant.kind === "claim") return "claimed";
  return grant.kind === "resumed" ? "resumed" : "granted";
}

type Wish = Pick<
  Ticket,
  | "id"
  | "kind"
  | "mode"
  | "permits"
  | "owner"
  | "actor"
  | "note"
  | "value"
  | "leaseMs"
  | "lockDelayMs"
>;

/** What a request takes along into its ticket and its grant. */
export function wishOf(command: AcquireCommand): Wish {
  const { id, kind, mode, permits, owner, note, value, leaseMs, lockDelayMs } = command;
  return {
    id,
    kind,
    mode,
    ...(permits === undefined ? {} : { permits }),
    owner,
    actor: command.scope.actor,
    ...(note === undefined ? {} : { note }),
    ...(value === undefined ? {} : { value }),
    leaseMs,
    lockDelayMs,
  };
}
