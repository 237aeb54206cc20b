import type { DurationMs } from "../scalars.ts";
import type { Actor } from "./record.ts";

/** A semaphore of a name has nothing to do with the lock of that name. */
export type Part = "lock" | "semaphore";

export type AuditLevel = "exceptions" | "all" | "off";

/** What every decision of one space has in common; settled when the space is opened. */
export interface LockScope {
  readonly namespace: string;
  /** The family of records that names belong to; locks unless said otherwise. */
  readonly part?: Part;
  /** The presence of the deciding space. */
  readonly presence: string;
  readonly actor: Actor;
  readonly clockErrorMs: DurationMs;
  /** Length of the presence lease. */
  readonly presenceMs: DurationMs;
  /** Time in which a grant to a waiter elsewhere must be confirmed. */
  readonly confirmMs: DurationMs;
  /** Most tickets of one lock. */
  readonly queueMax: number;
  /** Most grants of one lock. */
  readonly holdersMax: number;
  /** Most records a decision reads beyond those of its command (L19). */
  readonly wideningMax: number;
  readonly audit: AuditLevel;
}
