import type { Write } from "../../src/core/decision.ts";
import type { GrantFacts } from "../../src/core/lock/facts.ts";
import type { LockRecord, Mode, PresenceRecord } from "../../src/core/lock/record.ts";
import type { AttemptFacts } from "../../src/lock/attempt-state.ts";
import type { LeaseFacts } from "../../src/lock/lease-state.ts";

/** The states of a small world. All parts are immutable: a step makes new ones. */

export interface State {
  readonly now: number;
  /** Engine time less the monotonic clock of the clients; changes when engine time steps. */
  readonly skew: number;
  readonly store: Store;
  readonly clients: readonly Client[];
  readonly packets: readonly Packet[];
  /** What is left of each kind of fault, and of all together. */
  readonly budget: Budget;
  /** The highest token that the lock has ever given out. */
  readonly highest: number;
  /** The store was changed from outside, so that holders may be wrong about it. */
  readonly isTampered: boolean;
}

export interface Store {
  readonly lock: LockRecord | undefined;
  readonly floor: { readonly v: 1; readonly floor: number } | undefined;
  readonly presences: Readonly<Record<string, PresenceRecord | undefined>>;
}

export const faults = [
  ...(["crash", "pause", "fail", "unknown", "slow", "stale", "double", "abort"] as const),
  ...(["move", "sweep", "delete", "raise", "stepBack", "force", "change"] as const),
] as const;
export type Fault = (typeof faults)[number];
export type Budget = Readonly<Record<Fault | "total", number>>;

export interface Client {
  /** Which script of the world it follows. */
  readonly script: number;
  readonly presence: string;
  readonly power: "up" | "paused" | "dead";
  /** Acquiring calls that it may still make. */
  readonly asks: number;
  /** Attempt ids it has used. */
  readonly serial: number;
  readonly attempt: Attempt | null;
  readonly lease: HeldLease | null;
  readonly cancels: readonly Cancel[];
  readonly call: Call | null;
  /** Attempts whose cancel is known to have taken effect. */
  readonly cancelled: readonly string[];
}

export interface Attempt {
  readonly id: string;
  readonly facts: AttemptFacts;
  /** Monotonic end of the wait; null without limit. */
  readonly waitEnd: number | null;
  readonly due: "ask" | "leave" | "nothing";
}

export interface HeldLease {
  readonly grant: GrantFacts;
  readonly facts: LeaseFacts;
  /** The end that the holder has asked for and not seen committed. */
  readonly isEnding: boolean;
}

export interface Cancel {
  readonly id: string;
  readonly number: number | null;
}

export type Command =
  | { readonly do: "ask"; readonly id: string; readonly isRepeat: boolean }
  | { readonly do: "look"; readonly id: string; readonly number: number }
  | { readonly do: "leave"; readonly id: string; readonly number: number }
  | { readonly do: "cancel"; readonly id: string; readonly number: number | null }
  | {
      readonly do: "renew";
      readonly id: string;
      readonly token: number;
      readonly change: number;
      readonly how: "set" | "keep" | "extend";
      readonly lengthMs: number | null;
    }
  | { readonly do: "release"; readonly id: string; readonly how: "released" | "lost" }
  | { readonly do: "resume"; readonly id: string }
  | { readonly do: "releaseClaim" }
  | { readonly do: "force" }
  | { readonly do: "presence" };

/** An engine call of a client that was not answered yet. */
interface Call {
  readonly command: Command;
  readonly sentAt: number;
  /** The outcome of the commit; null while the commit is still under way as a packet. */
  readonly outcome: unknown;
}

/** Something that is still on its way to the store. */
export type Packet =
  | {
      /** A decision made on what was read, to be committed when that is unchanged. */
      readonly kind: "commit";
      readonly client: number;
      readonly presence: string;
      readonly command: Command;
      readonly writes: readonly Write[];
      readonly reads: readonly Read[];
      /** The commit is refused outside these instants of engine time (section 8). */
      readonly decidedAt: number;
      readonly validUntil: number;
      readonly outcome: unknown;
      readonly counted: readonly number[];
      /** The client waits for its answer. */
      readonly isAwaited: boolean;
    }
  | {
      /** A request that arrives once more and is decided anew. */
      readonly kind: "echo";
      readonly client: number;
      readonly presence: string;
      readonly command: Command;
    };

/** A record as it was read: an absent one compares equal to an absent one, whatever was between. */
export interface Read {
  readonly kind: string;
  readonly id: string;
  readonly value: unknown;
}

export interface World {
  readonly name: string;
  readonly scripts: readonly Script[];
  readonly budget: Partial<Budget> & { readonly total: number };
  readonly leaseMs: number;
  /** The length that a holder asks for when it shortens its lease. */
  readonly shortMs: number;
  readonly confirmMs: number;
  readonly presenceMs: number;
  readonly lockDelayMs: number;
  readonly wideningMax: number;
  /** Retention of the sweep. */
  readonly retentionMs: number;
  readonly depthMax: number;
  /** Times a live lease is renewed by its holder without being asked: none where it only ends. */
  readonly isRenewed: boolean;
  readonly floor: number;
}

/** What one client does in its life. */
export interface Script {
  readonly asks: number;
  readonly mode: Mode;
  readonly kind: "lease" | "claim";
  readonly owner: string;
  /** null waits without limit, 0 tries. */
  readonly waitMs: number | null;
}
