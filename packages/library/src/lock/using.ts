import { InvalidArgumentError, LeaseLostError } from "../errors.ts";
import type { LeaseHandle } from "./lease-handle.ts";
import type { Lease } from "./lease-api.ts";

export function checkWork(work: unknown): void {
  if (typeof work === "function") return;
  throw new InvalidArgumentError("work", work, "must be a function");
}

/**
 * Runs a body under a lease and releases it when the body has settled (L52).
 *
 * The body's signal fires on loss, or when the caller aborts; the lease is kept until the body has
 * settled all the same. The body's error wins over any other; a body that succeeds although the
 * lease was lost, or ended by force, makes the call reject with `LEASE_LOST`, which carries the
 * `result`. A body that releases the lease itself has ended it on purpose.
 */
export async function runUnder<Value>(
  lease: LeaseHandle,
  caller: AbortSignal | undefined,
  work: (lease: Lease, signal: AbortSignal) => Promise<Value> | Value,
): Promise<Value> {
  const signal = caller === undefined ? lease.signal : AbortSignal.any([lease.signal, caller]);
  let result: Value;
  try {
    result = await work(lease, signal);
  } catch (error) {
    await lease.releaseAfterUse();
    throw error;
  }
  if (lease.state === "released") return result;
  const loss = await lease.releaseAfterUse();
  if (loss === undefined) return result;
  throw new LeaseLostError({ lock: lease.name, token: lease.token, ...loss, result });
}
