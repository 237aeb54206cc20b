import type { LockScope } from "../core/lock/scope.ts";
import type { Engine } from "../engine/contract.ts";
import type { Clock, Entropy } from "../time/clock.ts";
import type { TimerQueue } from "../time/timer-queue.ts";
import type { EngineContact } from "./engine-contact.ts";
import type { EventHub } from "./events.ts";
import type { Lifetime } from "./lifetime.ts";
import type { SpaceConfig } from "./space-config.ts";

/** What the parts of one space share. Made once, when the space is opened. */
export interface SpaceContext {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly timers: TimerQueue;
  readonly config: SpaceConfig;
  readonly scope: LockScope;
  /** The same for decisions on semaphores. */
  readonly semaphoreScope: LockScope;
  readonly events: EventHub;
  readonly contact: EngineContact;
  readonly lifetime: Lifetime;
}
