import type { AuditEntry, AuditKind } from "../core/lock/record.ts";
import type { LockState, LockStatus } from "../core/lock/views.ts";
import type { EpochMs } from "../core/scalars.ts";

/** Why a lock cannot be had now, and when at the earliest it can. */
export interface Explanation {
  readonly name: string;
  readonly status: LockStatus;
  /** What keeps a new exclusive request out, in plain sentences; empty when it would be granted. */
  readonly because: readonly string[];
  /** Earliest instant at which the holders seen now are all out; null when nobody holds it. */
  readonly earliestAt: EpochMs | null;
}

export interface ForceOptions {
  /** Kept in the history and told to the holder; 1 to 1024 bytes. */
  readonly reason: string;
  /** Only the grant with this token. Default: every grant. */
  readonly token?: number | undefined;
  /** Let the next one in at once, whatever lock-delay was set. Default false. */
  readonly noDelay?: boolean | undefined;
}

export interface ForceResult {
  readonly ended: readonly { readonly token: number; readonly owner: string }[];
}

export interface HistoryOptions {
  readonly name?: string | undefined;
  /** Only entries from this engine time on. */
  readonly since?: EpochMs | undefined;
  readonly kinds?: readonly AuditKind[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface HistoryEntry extends AuditEntry {
  readonly at: EpochMs;
  readonly name: string;
}

export interface ListOptions {
  /** Beginning of the names; `""` for all. */
  readonly prefix?: string | undefined;
  readonly state?: LockState | undefined;
  /** Only locks that this owner id holds. */
  readonly owner?: string | undefined;
  /** Most locks of one page, 1 to 1000. Default 100. */
  readonly limit?: number | undefined;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ListPage {
  readonly locks: readonly LockStatus[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** A state of a lock that a watcher is told of; states may be skipped, never reordered (L109). */
export interface LockEvent {
  readonly name: string;
  readonly type: LockState;
  readonly token: number;
  /** How many tokens were minted since the last event beside this one. */
  readonly skipped: number;
  readonly holders: LockStatus["holders"];
  readonly depth: number;
  readonly now: EpochMs;
}
