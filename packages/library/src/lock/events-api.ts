import type { Denial } from "../core/lock/views.ts";
import type { EpochMs } from "../core/scalars.ts";
import type { LossReason } from "../errors.ts";

/** What a space tells its listeners, by event name. Times are in ms. */
export interface SpaceEvents {
  /** A lease or claim was granted to a call of this space. */
  readonly acquired: { readonly name: string; readonly token: number; readonly waitedMs: number };
  /** A call goes on waiting; told every 10 s, with what keeps it out. */
  readonly waiting: { readonly name: string; readonly denial: Denial; readonly waitedMs: number };
  /** A call that does not wait was refused. */
  readonly refused: { readonly name: string; readonly denial: Denial };
  /** A lease was renewed; `expiresAt` is its new end in engine time. */
  readonly renewed: { readonly name: string; readonly token: number; readonly expiresAt: EpochMs };
  /** A lease of this space is over without having been released. */
  readonly lost: { readonly name: string; readonly token: number; readonly reason: LossReason };
  /** A lease of this space was released. */
  readonly released: { readonly name: string; readonly token: number };
  /** A commit of this space took a lapsed grant of anybody out of the record. */
  readonly reclaimed: { readonly name: string; readonly token: number; readonly owner: string };
  /** A commit of this space took back a grant that its waiter had not confirmed in time. */
  readonly withdrawn: { readonly name: string; readonly token: number; readonly owner: string };
  /** A waiting call has lost its place and begins anew at the tail (L25). */
  readonly ticketLost: { readonly name: string; readonly how: string };
  /** A timer fired so much too late that leases may be in danger. */
  readonly stall: { readonly latenessMs: number };
  /** The host seems to have slept: the lease is vouched for again after an engine answer (L60). */
  readonly unverified: { readonly name: string; readonly token: number; readonly gapMs: number };
  /** The store's own clock was set, by this much (L58). */
  readonly clockStep: { readonly stepMs: number };
  /** The store has forgotten a token that it had given out; it was raised again (L64). */
  readonly rewind: { readonly name: string; readonly token: number };
  /** Something failed that no call could be told of. */
  readonly error: { readonly error: unknown; readonly while: string };
}

export type SpaceEventName = keyof SpaceEvents;
