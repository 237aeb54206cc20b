import type { FenceEntry } from "../core/fence/entry.ts";
import type { Guard } from "../fence/guard.ts";
import type { LostResult } from "../core/lock/renew.ts";
import type { LeaseLostError } from "../errors.ts";
import type { LeaseEntries } from "./lease-entries.ts";

/** A lease as far as a change of its mode is concerned. */
export interface ChangingLease {
  readonly leaseId: string;
  readonly entries: LeaseEntries;
  readonly leaseMs: number;
  takeChange(): number;
  /** The error that tells of its loss, as far as is known. */
  lossError(): LeaseLostError;
  assertNotOver(): void;
  lostAs(result: LostResult): Promise<LeaseLostError>;
}

/** The same with what a resource compares, and the resource at which its marks are raised. */
export interface FencedLease extends ChangingLease {
  readonly namespace: string;
  readonly name: string;
  readonly token: number;
  readonly fences: readonly FenceEntry[];
  /** Undefined when the holder asked for no marks to be raised. */
  readonly guard: Guard | undefined;
}
