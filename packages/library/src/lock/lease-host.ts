import type { DurationMs, MonotonicMs } from "../core/scalars.ts";
import type { EngineCalls } from "./engine-calls.ts";
import type { LeaseFacts } from "./lease-state.ts";
import type { SpaceConfig } from "./space-config.ts";
import type { SpaceContext } from "./space-context.ts";
import type { WaiterHost } from "./waiter.ts";

/** A lease as the batched renewal of its space sees it. */
export interface RenewedLease extends AsyncDisposable {
  readonly facts: LeaseFacts;
  readonly isRenewed: boolean;
  /** Monotonic instant after which it is not renewed any more; `Infinity` without limit. */
  readonly maxHoldAtMs: MonotonicMs;
  /** One automatic renewal; never throws. */
  keep(): Promise<void>;
  /** Notes that the lease ends because its space closes; the release follows. */
  closeWithSpace(): void;
  /** Makes a held lease unverified. */
  suspend(gapMs: DurationMs): void;
}

/** What a lease needs of its space. */
export interface LeaseHost {
  readonly context: SpaceContext;
  readonly config: SpaceConfig;
  readonly calls: EngineCalls;
  /** Where the waiting calls of the space stand. */
  readonly room: WaiterHost;
  /** Plans the next renewal of a lease that is new or was renewed. */
  keep(lease: RenewedLease): void;
  /** Forgets a lease that is over. */
  drop(lease: RenewedLease): void;
  /** Makes every lease unverified when the host seems to have slept. */
  checkSuspend(): void;
}
