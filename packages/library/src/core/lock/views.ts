import type { EpochMs, FencingToken, Json } from "../scalars.ts";
import type { Actor, GrantKind, Mode } from "./record.ts";

/** A holder as others may see it. Never carries a lease id (L66). */
export interface HolderView {
  readonly owner: string;
  readonly actor: Actor;
  readonly mode: Mode;
  readonly token: FencingToken;
  readonly since: EpochMs;
  readonly expiresAt: EpochMs;
  readonly kind: GrantKind;
  readonly state: "held" | "pending" | "lapsed" | "delayed";
  readonly note?: string;
  readonly value?: Json;
  readonly for?: string;
  readonly permits?: number;
}

/** Why a request was refused, and everything that the caller needs in order to act. */
export interface Denial {
  readonly name: string;
  /** The owning lock that refused, when it was not the name itself. */
  readonly via?: string;
  readonly reason: "held" | "queued" | "delayed" | "limit";
  /** At most {@link holdersShownMax}. */
  readonly holders: readonly HolderView[];
  /** The end of the last conflicting grant; null when none is known. */
  readonly until: EpochMs | null;
  /** Tickets before this one; null when none was queued. Beyond the first page an upper bound. */
  readonly position: number | null;
  readonly depth: number;
  readonly now: EpochMs;
}

/** Every state of a lock, as it is derived from its record (section 5). */
export const lockStates = [
  "free",
  "lapsed",
  "delayed",
  "pending",
  "claimed",
  "held",
  "shared",
] as const;

export type LockState = (typeof lockStates)[number];

/** A lock as it was at `now`; already past when it is read, hence never authoritative. */
export interface LockStatus {
  readonly name: string;
  readonly state: LockState;
  /** The mode in which it is held; null when nobody holds it. */
  readonly mode: Mode | null;
  /** Newest live token; 0 when there is none. */
  readonly token: FencingToken;
  readonly counter: FencingToken;
  readonly holders: readonly HolderView[];
  readonly depth: number;
  /** The first {@link queueShownMax} tickets. */
  readonly queue: readonly QueueView[];
  readonly limit?: number;
  readonly now: EpochMs;
  readonly authoritative: false;
}

export interface QueueView {
  readonly position: number;
  readonly owner: string;
  readonly mode: Mode;
  readonly since: EpochMs;
}

/** Most holders that a denial names. */
export const holdersShownMax = 16;
/** Most tickets that a status names. */
export const queueShownMax = 100;
