import type { Guard } from "../fence/guard.ts";
import type { Duration } from "../core/duration.ts";
import type { Mode } from "../core/lock/record.ts";
import type { Denial } from "../core/lock/views.ts";
import type { EpochMs } from "../core/scalars.ts";

export interface TryOptions {
  /**
   * Lease length. Omitted, zero or negative: the space's default; longer than the maximum: capped.
   */
  readonly lease?: Duration | undefined;
  /** Default `"exclusive"`. */
  readonly mode?: Mode | undefined;
  /** Who asks, for people to read; 1 to 256 bytes. */
  readonly owner?: string | undefined;
  /** Shown with the holder; at most 1024 bytes. */
  readonly note?: string | undefined;
  /** `"auto"` (default) renews at a third of the lease; `"manual"` leaves it to the holder. */
  readonly renew?: "auto" | "manual" | undefined;
  /** Keeps others out for this long after a lapse or a forced end; 0 to 60 s. Default 0. */
  readonly lockDelay?: Duration | undefined;
  /** Stop renewing after this long; at least the lease length. Default: never. */
  readonly maxHold?: Duration | undefined;
  /**
   * A guard of `leasehold/fence` at which the marks of the lease are raised before the call
   * resolves: from then on nothing older is accepted there (L71). Else `FENCE_INSTALL_FAILED`.
   */
  readonly fenceOn?: Guard | undefined;
  /** Ends the call only before it is sent. */
  readonly signal?: AbortSignal | undefined;
  /** Told why, when the answer is null. */
  readonly refused?: ((denial: Denial) => void) | undefined;
  /**
   * The owning locks of the name, nearest first, at most 64: they are held shared as long as the
   * name is held (L84). Default: what `ownersOf` of the space says.
   */
  readonly owners?: readonly string[] | undefined;
}

/** One lock of a batch. */
export interface LockRequestItem {
  readonly name: string;
  /** Default `"exclusive"`. */
  readonly mode?: Mode | undefined;
  /** The owning locks of the name, nearest first; default: what `ownersOf` of the space says. */
  readonly owners?: readonly string[] | undefined;
}

export type BatchOptions = Omit<AcquireOptions, "mode" | "owners">;
export type TryBatchOptions = Omit<TryOptions, "mode" | "owners">;

export interface AcquireOptions extends Omit<TryOptions, "refused"> {
  /** How long to wait: 0 never queues; `Infinity` waits for the signal. Default 30 s. */
  readonly wait?: Duration | undefined;
  /** Ends the waiting; fired after the grant it changes nothing. */
  readonly signal?: AbortSignal | undefined;
}

export interface ClaimOptions {
  /** How long the claim stands, and later the lease it is resumed into; capped at `claimMax`. */
  readonly lease?: Duration | undefined;
  /** How long to wait: 0 never queues; `Infinity` waits for the signal. Default 30 s. */
  readonly wait?: Duration | undefined;
  /** Shown with the holder; at most 1024 bytes. */
  readonly note?: string | undefined;
  /** Keeps others out for this long after a lapse or a forced end; 0 to 60 s. Default 0. */
  readonly lockDelay?: Duration | undefined;
  /** Ends the waiting; fired after the grant it changes nothing. */
  readonly signal?: AbortSignal | undefined;
}

export interface TryClaimOptions extends Omit<ClaimOptions, "wait"> {
  /** Told why, when the answer is false. */
  readonly refused?: ((denial: Denial) => void) | undefined;
}

/** A claim as it was granted; whoever knows its owner id may resume it. */
export interface Claim {
  /** Place in the lock's history. */
  readonly token: number;
  /** End in engine time unless it is resumed before. */
  readonly expiresAt: EpochMs;
  /** Effective length in ms. */
  readonly leaseMs: number;
}

export interface ResumeOptions {
  /** Refuse, with null, while a resumed lease of the claim is live. Default false. */
  readonly ifUnresumed?: boolean | undefined;
  /** `"auto"` (default) renews with the length of the claim; `"manual"` leaves it to the holder. */
  readonly renew?: "auto" | "manual" | undefined;
  /** Stop renewing after this long. Default: never. */
  readonly maxHold?: Duration | undefined;
  /** A guard at which the marks are raised before the call resolves (L71). */
  readonly fenceOn?: Guard | undefined;
  /** Ends the call only before it is sent. */
  readonly signal?: AbortSignal | undefined;
}

export interface UpgradeOptions {
  /** Which of the lease's locks; default the first. */
  readonly name?: string | undefined;
  /** How long to wait: 0 asks once; `Infinity` waits for the signal. Default 30 s. */
  readonly wait?: Duration | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface AttachOptions {
  /** `"auto"` (default) renews with the length of the lease; `"manual"` leaves it to the holder. */
  readonly renew?: "auto" | "manual" | undefined;
  /** Stop renewing after this long. Default: never. */
  readonly maxHold?: Duration | undefined;
  /** A guard at which the marks are raised before the call resolves (L71). */
  readonly fenceOn?: Guard | undefined;
  /** Ends the call only before it is sent. */
  readonly signal?: AbortSignal | undefined;
}
