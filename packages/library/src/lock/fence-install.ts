import type { Fenced } from "../core/fence/entry.ts";
import { decideRemint } from "../core/lock/remint.ts";
import type { Guard, InstallResult } from "../fence/guard.ts";
import { FenceInstallError, LeaseholdError, type StaleFenceFacts } from "../errors.ts";
import type { EngineCalls } from "./engine-calls.ts";
import type { FencedLease } from "./changing-lease.ts";

/**
 * Raises the marks of a lease at the resource before its holder gets the lease, so that from then
 * on nothing older is accepted there (L71).
 *
 * A resource that knows of higher marks than the lock's counter makes the counter rise and a token
 * be minted anew, once; where the counter knows of them, too, the lease is stale and lost (L72).
 * Rejects with `FENCE_INSTALL_FAILED` or `LEASE_LOST`; giving the grant back is the caller's.
 */
export async function installFence(
  calls: EngineCalls,
  lease: FencedLease,
  guard: Guard,
): Promise<void> {
  const first = await install(guard, lease);
  if (first.kind === "installed") return lease.assertNotOver();
  await remint(calls, lease, first.marks);
  const second = await install(guard, lease);
  if (second.kind === "installed") return lease.assertNotOver();
  throw await lease.lostAs({ kind: "lost", how: "expired", isRewind: false });
}

async function install(guard: Guard, lease: FencedLease): Promise<InstallResult> {
  const { namespace, fences, name, token } = lease;
  const fenced: Fenced = { namespace, fences };
  try {
    return await guard.install(fenced);
  } catch (error) {
    if (error instanceof LeaseholdError) throw error;
    throw new FenceInstallError(name, token, error);
  }
}

async function remint(
  calls: EngineCalls,
  lease: FencedLease,
  marks: readonly StaleFenceFacts[],
): Promise<void> {
  const { scope, keys, first, also } = lease.entries;
  const highest = new Map(marks.map((each) => [each.lock, Math.max(each.markX, each.markS)]));
  const entries = [first, ...also].map(({ name, token }) => {
    const mark = highest.get(name) ?? 0;
    return { name, token, mark };
  });
  const { outcome } = await calls.untilAnswered(
    keys,
    (snapshot) => decideRemint(snapshot, { scope, id: lease.leaseId, entries }),
    { deadlineMs: calls.deadlineMs() },
  );
  const { result } = outcome;
  if (result.kind === "lost") throw await lease.lostAs(result);
  if (result.kind === "stale") {
    throw await lease.lostAs({ kind: "lost", how: "expired", isRewind: false });
  }
  for (const entry of result.grant.entries) lease.entries.replace(entry);
}
