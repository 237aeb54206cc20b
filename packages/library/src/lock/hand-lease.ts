import type { GrantFacts } from "../core/lock/facts.ts";
import type { MonotonicMs } from "../core/scalars.ts";
import { SpaceClosedError } from "../errors.ts";
import { installFence } from "./fence-install.ts";
import type { LeaseHandle, LeaseTerms } from "./lease-handle.ts";
import type { LeaseHost } from "./lease-host.ts";

/**
 * The lease of a grant, handed out only when its marks stand at the resource that the caller has
 * named; a grant that cannot be handed out is given back (L71). One that comes while the space
 * closes is released again (L119).
 */
export async function handLease<Handle extends LeaseHandle = LeaseHandle>(
  host: LeaseHost,
  { grant, sentAtMs }: { readonly grant: GrantFacts; readonly sentAtMs: MonotonicMs },
  terms: LeaseTerms,
  Kind: new (
    host: LeaseHost,
    grant: GrantFacts,
    sentAtMs: MonotonicMs,
    terms: LeaseTerms,
  ) => Handle,
): Promise<Handle> {
  const lease = new Kind(host, grant, sentAtMs, terms);
  try {
    if (terms.guard !== undefined) await installFence(host.calls, lease, terms.guard);
  } catch (error) {
    await lease[Symbol.asyncDispose]();
    throw error;
  }
  if (!host.context.lifetime.isClosed) return lease;
  await lease[Symbol.asyncDispose]();
  throw new SpaceClosedError();
}
