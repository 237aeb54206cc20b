import type { FenceEntry } from "../core/fence/entry.ts";
import type { Duration } from "../core/duration.ts";
import type { Mode } from "../core/lock/record.ts";
import type { EpochMs } from "../core/scalars.ts";
import type { UpgradeOptions } from "./request-api.ts";

/** Lost and released are final; unverified lasts until the engine answers after a suspend. */
export type LeaseState = "held" | "unverified" | "lost" | "released";

/** A lease on its way to another process. Whoever has it can take the lease up, once. */
export interface PortableLease {
  readonly namespace: string;
  /** All locks, owning locks included. */
  readonly names: readonly string[];
  readonly modes: readonly Mode[];
  readonly leaseId: string;
  readonly tokens: readonly number[];
  readonly leaseMs: number;
}

/** A grant that its holder keeps; see docs/spec/locks.md section 4. */
export interface Lease extends AsyncDisposable {
  readonly namespace: string;
  /** The lock, or the first that was asked for of several. */
  readonly name: string;
  /** Every lock that was asked for, without its owning locks. */
  readonly names: readonly string[];
  readonly mode: Mode;
  /** Place in the lock's history; send it along to fenced resources. */
  readonly token: number;
  /** The token of one of its locks, owning locks included. */
  tokenOf(name: string): number;
  /** The token as 16 digits, so that texts sort as the tokens do. */
  readonly fence: string;
  /** What `leasehold/fence` compares: every lock of the lease with its mode and token. */
  readonly fences: readonly FenceEntry[];
  /** The credential of this lease. Keep it to yourself. */
  readonly leaseId: string;
  readonly owner: string;
  /** The places of a semaphore that this lease fills; none of a lock. */
  readonly slots: readonly number[];
  /** Effective length, as the engine enforces it. */
  readonly leaseMs: number;
  /** End in engine time, as of the last renewal whose outcome is known. */
  readonly expiresAt: EpochMs;
  readonly grantedAt: EpochMs;
  readonly state: LeaseState;
  /** Aborts with `LeaseLostError` when the lease is lost. */
  readonly signal: AbortSignal;
  /** Milliseconds until the local deadline; 0 when lost or released. */
  remainingMs(): number;
  /** Throws `LEASE_LOST` or `LEASE_UNVERIFIED` unless the lease is held. No traffic. */
  assertHeld(): void;
  /** Sets the end to now + `lease`; the new length is kept. Throws `LEASE_LOST`. */
  renew(lease?: Duration): Promise<void>;
  /** Moves the end to now + `lease` unless it is later already. Throws `LEASE_LOST`. */
  extend(lease?: Duration): Promise<void>;
  /**
   * Makes the lease exclusive, on one of its locks, once the other shared holders have left (L74):
   * before every other request, with a new token. No-op when it is exclusive. Throws
   * `UPGRADE_CONFLICT`, `LOCK_WAIT_TIMEOUT`, `LOCK_ABORTED`, `LEASE_LOST`; the lease stays shared.
   */
  upgrade(options?: UpgradeOptions): Promise<void>;
  /** The same without waiting; false when it is not to be had now. */
  tryUpgrade(options?: { readonly name?: string | undefined }): Promise<boolean>;
  /** Makes the lease shared, with its token, and lets other shared requests in (L77). */
  downgrade(options?: { readonly name?: string | undefined }): Promise<void>;
  /**
   * Gives the lease away in a form that another process takes up by `attach` (L95). It is good for
   * `lease` from now; this handle is released, and nothing is freed. The form is a credential.
   */
  transfer(options?: { readonly lease?: Duration | undefined }): Promise<PortableLease>;
  /** True when this call freed the lock; false when the lease was over before. */
  release(): Promise<boolean>;
  /** Everything but the lease id. */
  toJSON(): Record<string, unknown>;
}
