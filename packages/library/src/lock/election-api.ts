import type { EpochMs, Json } from "../core/scalars.ts";
import type { Lease } from "./lease-api.ts";
import type { AcquireOptions } from "./request-api.ts";

export type CampaignOptions = Omit<AcquireOptions, "mode" | "owners">;

/** Who leads, as others see it. */
export interface Leader {
  /** What the leader has proclaimed; null when nothing. */
  readonly value: Json;
  readonly owner: string;
  readonly token: number;
  readonly since: EpochMs;
}

/** A live leadership: a lease of the lock of the election's name (L102). */
export interface Leadership extends Lease {
  /** Changes the value that others see; JSON of at most 4 KiB. Throws `LEASE_LOST` (L104). */
  proclaim(value: Json): Promise<void>;
  /** Releases the leadership; true when this call freed it. */
  resign(): Promise<boolean>;
}

/** At most one leader of a name at a time (L102). */
export interface Election {
  readonly name: string;
  /** Waits to become the leader, without limit unless `wait` says so. */
  campaign(value?: Json, options?: CampaignOptions): Promise<Leadership>;
  /** The present leader, or null. Changes nothing. */
  leader(options?: { readonly signal?: AbortSignal }): Promise<Leader | null>;
  /** The present leader first, then changes; null while nobody leads; may skip some (L103). */
  observe(options?: { readonly signal?: AbortSignal }): AsyncIterable<Leader | null>;
}
