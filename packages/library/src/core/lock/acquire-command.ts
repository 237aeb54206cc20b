import type { DurationMs, Json } from "../scalars.ts";
import type { Mode, TicketKind } from "./record.ts";
import type { LockScope } from "./scope.ts";

/** One lock of a request. */
export interface AskedItem {
  readonly name: string;
  readonly mode: Mode;
  /** The name for whose sake this owning lock is asked for (L84). */
  readonly for?: string | undefined;
}

/** What is asked for by acquire, tryAcquire, claim and tryClaim. A claim is always exclusive. */
export interface AcquireCommand extends AskedItem {
  readonly scope: LockScope;
  /** The further locks of a batch, each name once; all or none are granted (L78). */
  readonly also?: readonly AskedItem[] | undefined;
  /** The attempt id: becomes the ticket id and the lease id. */
  readonly id: string;
  readonly kind: TicketKind;
  readonly owner: string;
  readonly note?: string | undefined;
  readonly value?: Json | undefined;
  readonly leaseMs: DurationMs;
  readonly lockDelayMs: DurationMs;
  /** How long the ticket may wait; `null` without limit, 0 never queues (L10, L11). */
  readonly waitMs: DurationMs | null;
  /** The attempt may have been stored before: it is looked for first (L15). */
  readonly isRepeat: boolean;
  /** Places asked for of a semaphore, and how many there are in all (L105). */
  readonly permits?: number | undefined;
  readonly limit?: number | undefined;
}
