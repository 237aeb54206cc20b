import type { ListOptions, LockStatus, Space } from "leasehold";

/** Locks of one page of a listing. */
const pageLimit = 1000;

/**
 * Lists locks page by page up to a limit; `isCut` tells that there are more.
 */
export async function listLocks(
  space: Space,
  { limit, ...filter }: ListOptions & { readonly limit: number },
): Promise<{ readonly locks: readonly LockStatus[]; readonly isCut: boolean }> {
  const locks: LockStatus[] = [];
  let cursor: string | undefined;
  do {
    const pageSize = Math.min(pageLimit, limit - locks.length);
    // oxlint-disable-next-line no-await-in-loop -- pages follow each other; the limit bounds them
    const page = await space.list({ ...filter, limit: pageSize, cursor });
    locks.push(...page.locks);
    cursor = page.next;
  } while (cursor !== undefined && locks.length < limit);
  return { locks, isCut: cursor !== undefined };
}
