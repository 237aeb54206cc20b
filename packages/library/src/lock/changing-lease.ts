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
