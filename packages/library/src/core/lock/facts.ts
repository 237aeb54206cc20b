import type { EpochMs, FencingToken } from "../scalars.ts";
import type { Grant, Mode } from "./record.ts";

/** One lock of a lease, as its holder must know it. */
export interface GrantEntry {
  readonly name: string;
  readonly mode: Mode;
  readonly token: FencingToken;
  /** The name for whose sake it stands on this owning lock. */
  readonly for?: string;
  /** The places of a semaphore that it fills. */
  readonly slots?: readonly number[];
}

/** What a waiter or holder of the deciding space must know of a grant that was made for it. */
export interface GrantFacts {
  readonly id: string;
  readonly kind: Grant["kind"];
  readonly owner: string;
  readonly leaseMs: number;
  readonly expiresAt: EpochMs;
  readonly grantedAt: EpochMs;
  /** The token and the mode of the first entry. */
  readonly token: FencingToken;
  readonly mode: Mode;
  /** Every lock of the grant in the order in which they were asked for. */
  readonly entries: readonly GrantEntry[];
}

/** An end that a commit has made, for events and counters. */
export interface EndFacts {
  readonly name: string;
  readonly token: FencingToken;
  readonly owner: string;
  readonly kind: Grant["kind"];
}

export function entryOf(name: string, grant: Grant): GrantEntry {
  const { mode, token, slots } = grant;
  return {
    name,
    mode,
    token,
    ...(grant.for === undefined ? {} : { for: grant.for }),
    ...(slots === undefined ? {} : { slots }),
  };
}

/** The facts of a grant of one lock. */
export function grantFacts(name: string, grant: Grant): GrantFacts {
  return batchFacts([{ name, grant }]);
}

/** The facts of a grant of several locks: its end is the earliest end of its parts. */
export function batchFacts(
  parts: readonly { readonly name: string; readonly grant: Grant }[],
): GrantFacts {
  const [first] = parts as [{ readonly name: string; readonly grant: Grant }];
  const { id, kind, owner, leaseMs, grantedAt, token, mode } = first.grant;
  let { expiresAt } = first.grant;
  for (const { grant } of parts) expiresAt = Math.min(expiresAt, grant.expiresAt);
  const entries = parts.map(({ name, grant }) => entryOf(name, grant));
  return { id, kind, owner, leaseMs, expiresAt, grantedAt, token, mode, entries };
}
