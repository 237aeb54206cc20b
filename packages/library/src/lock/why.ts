import type { LockOutlook } from "../core/lock/status.ts";
import type { HolderView, LockStatus } from "../core/lock/views.ts";
import { showInstant } from "../errors.ts";
import { showActor } from "./loss.ts";
import type { Explanation } from "./views-api.ts";

/** Says in plain sentences what keeps a new exclusive request out, and until when at the latest. */
export function explain({ status, until }: LockOutlook): Explanation {
  const blocking = status.holders.filter(({ state }) => state !== "lapsed");
  const because = [
    ...blocking.map((holder) => holderSentence(holder)),
    ...(status.depth === 0 ? [] : [queueSentence(status)]),
  ];
  return { name: status.name, status, because, earliestAt: until };
}

function holderSentence(holder: HolderView): string {
  const { owner, actor, token, mode, since, expiresAt, state, kind, note } = holder;
  const what = kind === "claim" ? "claimed" : state === "pending" ? "being handed over" : "held";
  const verb = state === "delayed" ? "in the lock-delay after its holder was lost" : what;
  const noted = note === undefined || note === "" ? "" : ` (${note})`;
  return (
    `${verb} ${mode} by ${owner} [${showActor(actor)}] with token ${token}` +
    ` since ${iso(since)} until ${iso(expiresAt)}${noted}`
  );
}

function queueSentence({ depth, queue }: LockStatus): string {
  const [first] = queue;
  const tickets = depth === 1 ? "1 request waits" : `${depth} requests wait`;
  return first === undefined
    ? tickets
    : `${tickets}, the first is ${first.owner}'s (${first.mode})`;
}

function iso(instant: number): string {
  return showInstant(instant);
}
