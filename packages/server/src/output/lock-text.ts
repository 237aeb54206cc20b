import type { Denial, HolderView, LockState, LockStatus } from "leasehold";

import type { Palette } from "./palette.ts";
import { printable } from "./printable.ts";
import { instantText } from "./time-text.ts";

/** Where a holder runs: `host web-1, pid 4711`. */
function placeText({ actor }: Pick<HolderView, "actor">): string {
  const app = actor.app === undefined ? "" : `, ${printable(actor.app)}`;
  return `host ${printable(actor.host)}, pid ${actor.pid}${app}`;
}

/** A holder in one line: who, where, since when, until when. */
export function holderText(holder: HolderView, nowMs: number): string {
  const since = instantText(holder.since, nowMs);
  const until = instantText(holder.expiresAt, nowMs);
  const who = `${printable(holder.owner)} (${placeText(holder)})`;
  return `held by ${who} with token ${holder.token} since ${since}, until ${until}`;
}

/** Why a lock cannot be had, in one line. */
export function denialText(denial: Denial): string {
  const [holder] = denial.holders;
  const via = denial.via === undefined ? "" : ` (by way of ${printable(denial.via)})`;
  const more = denial.holders.length > 1 ? ` and ${denial.holders.length - 1} more` : "";
  const held =
    holder === undefined ? `${denial.depth} waiting for it` : holderText(holder, denial.now) + more;
  return `${held}${via}${placeInQueueText(denial.position, denial.depth)}`;
}

/** `; place 2 of 3 in the queue`, or nothing for those who are not in it. */
export function placeInQueueText(position: number | null, depth: number): string {
  if (position === null) return "";
  return `; place ${position + 1} of ${Math.max(depth, position + 1)} in the queue`;
}

/** The state of a lock in its colour. */
export function stateText(state: LockState, palette: Palette): string {
  switch (state) {
    case "free":
      return palette.good(state);
    case "lapsed":
    case "delayed":
    case "pending":
      return palette.attention(state);
    case "claimed":
    case "held":
    case "shared":
      return palette.bold(state);
  }
}

/** The owners of a lock in few words, for a cell of a table. */
export function ownersText(status: Pick<LockStatus, "holders">): string {
  const [first, ...others] = status.holders;
  if (first === undefined) return "";
  return others.length === 0
    ? printable(first.owner)
    : `${printable(first.owner)} +${others.length}`;
}
