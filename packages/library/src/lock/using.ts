import { LeaseLostError } from "../errors.ts";
import type { Lease } from "./space-api.ts";

/**
 * Runs a body under a lease and releases it when the body has settled (L52).
 *
 * The body's signal fires on loss, or when the caller aborts; the lease is kept until the body has
 * settled all the same. The body's error wins over any other; a body that succeeds although the
 * lease was lost makes the call reject with `LEASE_LOST`, which carries the `result`.
 */
export async function runUnder<Value>(
  lease: Lease,
  caller: AbortSignal | undefined,
  work: (lease: Lease, signal: AbortSignal) => Promise<Value> | Value,
): Promise<Value> {
  const signal = caller === undefined ? lease.signal : AbortSignal.any([lease.signal, caller]);
  let result: Value;
  try {
    result = await work(lease, signal);
  } catch (error) {
    await lease[Symbol.asyncDispose]();
    throw error;
  }
  const loss = lossOf(lease);
  await lease[Symbol.asyncDispose]();
  if (loss === undefined) return result;
  const { lock, token, reason, by, why } = loss;
  throw new LeaseLostError({ lock, token, reason, by, why, result });
}

function lossOf(lease: Lease): LeaseLostError | undefined {
  if (lease.state !== "lost") return undefined;
  const { reason } = lease.signal;
  return reason instanceof LeaseLostError ? reason : undefined;
}
