import { clockKey } from "../core/lock/keys.ts";
import type { Actor } from "../core/lock/record.ts";
import type { LockScope } from "../core/lock/scope.ts";
import { decideClock } from "../core/lock/space-records.ts";
import type { DurationMs } from "../core/scalars.ts";
import type { Engine } from "../engine/contract.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Clock, Entropy } from "../time/clock.ts";
import { TimerQueue } from "../time/timer-queue.ts";
import { EngineContact } from "./engine-contact.ts";
import { EventHub } from "./events.ts";
import { Lifetime } from "./lifetime.ts";
import { LockSpace } from "./space.ts";
import type { Space, SpaceOptions } from "./space-api.ts";
import { parseSpaceOptions, type SpaceConfig } from "./space-config.ts";
import type { SpaceContext } from "./space-context.ts";

/** Records a decision may read beyond those of its command (section 3). */
const wideningMax = 128;

/** What a space is made of beside its options. */
export interface SpaceParts {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly host: { readonly name: string; readonly pid: number };
}

/**
 * Opens a space on an engine and takes the engine over: closing the space closes it.
 *
 * Checks the options first, then agrees with the other clients of the namespace on the clock bound
 * (docs/spec/locks.md section 3); a client whose bound is worse than the agreed one is refused.
 */
export async function openSpace(parts: SpaceParts, options: SpaceOptions): Promise<Space> {
  const { engine, clock } = parts;
  const config = parseSpaceOptions(options, engine.capabilities);
  const clockErrorMs = await agreeOnClock(parts, config);
  const events = new EventHub();
  const scope = scopeOf(parts, config, clockErrorMs);
  const onLate = (latenessMs: DurationMs): void => {
    if (latenessMs >= stallMsMin) events.emit("stall", { latenessMs: Math.ceil(latenessMs) });
  };
  const onError = (error: unknown): void => events.fail(error, "a timer");
  const context: SpaceContext = {
    engine,
    clock,
    entropy: parts.entropy,
    timers: new TimerQueue(clock, { onError, onLate }),
    config,
    scope,
    semaphoreScope: { ...scope, part: "semaphore" },
    events,
    contact: new EngineContact(clock, clockErrorMs),
    lifetime: new Lifetime(config.isReadOnly),
  };
  return new LockSpace(context);
}

/** A timer that fires later than this is told as a stall; the margin of a default lease. */
const stallMsMin = 1_000;

async function agreeOnClock(parts: SpaceParts, config: SpaceConfig): Promise<DurationMs> {
  const { engine, clock } = parts;
  const { clockErrorMs } = engine.capabilities;
  const { namespace, isReadOnly } = config;
  const command = { namespace, clockErrorMs, isReadOnly };
  const agreedMs = await engine.transact(
    [clockKey(namespace)],
    (snapshot) => decideClock(snapshot, command),
    { deadlineMs: clock.monotonicMs() + config.callTimeoutMs },
  );
  if (clockErrorMs <= agreedMs) return agreedMs;
  const rule =
    `must be at most ${agreedMs} ms, which the clients of namespace ${namespace} agreed on; ` +
    `use a nearer store or another namespace`;
  throw new InvalidArgumentError("clockErrorMs", clockErrorMs, rule, { limit: agreedMs });
}

function scopeOf(parts: SpaceParts, config: SpaceConfig, clockErrorMs: DurationMs): LockScope {
  const { name: host, pid } = parts.host;
  const actor: Actor = config.app === null ? { host, pid } : { host, pid, app: config.app };
  return {
    namespace: config.namespace,
    presence: parts.entropy.id(),
    actor,
    clockErrorMs,
    presenceMs: config.presenceMs,
    confirmMs: config.confirmMs,
    queueMax: config.queueMax,
    holdersMax: config.holdersMax,
    wideningMax,
    audit: config.audit,
  };
}
