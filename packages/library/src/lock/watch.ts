import { lockKey } from "../core/lock/keys.ts";
import type { Part } from "../core/lock/scope.ts";
import { decideStatus, statusOfRecord } from "../core/lock/status.ts";
import type { LockStatus } from "../core/lock/views.ts";
import type { EngineCalls } from "./engine-calls.ts";
import type { LockEvent } from "./views-api.ts";
import type { SpaceContext } from "./space-context.ts";

export interface WatchTarget {
  /** The one lock; null for all whose names begin with `prefix`. */
  readonly name: string | null;
  readonly prefix: string;
  readonly part: Part;
  readonly signal: AbortSignal;
}

/** Locks that are listed in one engine call. */
const locksPerPage = 500;

/**
 * States of locks in token order, the present one first (L109). It looks on every hint and once a
 * look period, so hints may be lost; it goes on over failures, and ends when the signal fires.
 */
export async function* watchLocks(
  context: SpaceContext,
  calls: EngineCalls,
  target: WatchTarget,
): AsyncGenerator<LockEvent> {
  const seen = new Map<string, LockStatus>();
  const bell = new WatchBell(context, target);
  try {
    // Bounded by the signal.
    while (!target.signal.aborted) {
      bell.quiet();
      // oxlint-disable-next-line no-await-in-loop -- looks follow each other
      const statuses = await lookAll(context, calls, target);
      if (statuses !== undefined) {
        yield* newsOf(seen, statuses);
        forgetOthers(seen, statuses);
      }
      // oxlint-disable-next-line no-await-in-loop -- waits for news or for the look period
      await bell.rung();
    }
  } finally {
    bell.close();
  }
}

/** An event for each lock that has changed since it was last told of. */
function* newsOf(
  seen: Map<string, LockStatus>,
  statuses: readonly LockStatus[],
): Generator<LockEvent> {
  for (const status of statuses) {
    const event = eventOf(seen.get(status.name), status);
    if (event === undefined) continue;
    seen.set(status.name, status);
    yield event;
  }
}

/** A swept lock is forgotten here, too: should it come back, its tokens go on from the floor. */
function forgetOthers(seen: Map<string, LockStatus>, statuses: readonly LockStatus[]): void {
  if (seen.size <= statuses.length) return;
  const listed = new Set(statuses.map(({ name }) => name));
  for (const name of seen.keys()) if (!listed.has(name)) seen.delete(name);
}

/** The present states; undefined when the look has failed. */
async function lookAll(
  context: SpaceContext,
  calls: EngineCalls,
  target: WatchTarget,
): Promise<readonly LockStatus[] | undefined> {
  const { scope, events } = context;
  const { namespace, clockErrorMs } = scope;
  try {
    const { name, part } = target;
    if (name !== null) {
      const { outcome } = await calls.plain(
        [lockKey(namespace, name, part)],
        (snapshot) => decideStatus(snapshot, { namespace, name, clockErrorMs, part }),
        { deadlineMs: calls.deadlineMs(), signal: target.signal },
      );
      return [outcome];
    }
    return await listAll(context, calls, target);
  } catch (error) {
    if (!target.signal.aborted) events.fail(error, "watching");
    return undefined;
  }
}

async function listAll(
  { scope }: SpaceContext,
  calls: EngineCalls,
  { prefix, part, signal }: WatchTarget,
): Promise<readonly LockStatus[]> {
  const all: LockStatus[] = [];
  let after: string | undefined;
  // Bounded by the locks there are.
  do {
    const request = { limit: locksPerPage, partial: prefix, after };
    // oxlint-disable-next-line no-await-in-loop -- each page begins where the one before ended
    const page = await calls.scan([part, scope.namespace], request, signal);
    const scene = { now: page.now, clockErrorMs: scope.clockErrorMs };
    all.push(...page.records.map(({ key, value }) => statusOfRecord(key, value, scene)));
    after = page.next;
  } while (after !== undefined);
  return all;
}

function eventOf(before: LockStatus | undefined, status: LockStatus): LockEvent | undefined {
  const isSame =
    before !== undefined &&
    before.counter === status.counter &&
    before.state === status.state &&
    before.depth === status.depth &&
    before.token === status.token &&
    valuesOf(before) === valuesOf(status);
  if (isSame || (before !== undefined && status.counter < before.counter)) return undefined;
  const minted = before === undefined ? 0 : status.counter - before.counter;
  const isShown = before !== undefined && status.token > before.counter;
  return {
    name: status.name,
    type: status.state,
    token: status.token,
    skipped: minted - (isShown ? 1 : 0),
    holders: status.holders,
    depth: status.depth,
    now: status.now,
  };
}

/** What the holders have proclaimed, as one text (L104). */
function valuesOf({ holders }: LockStatus): string {
  return holders.some(({ value }) => value !== undefined)
    ? JSON.stringify(holders.map(({ value }) => value ?? null))
    : "";
}

/** Rings on a hint, after a look period, and when the watch ends. */
class WatchBell {
  readonly #context: SpaceContext;
  readonly #stop = new AbortController();
  readonly #target: WatchTarget;
  #isRung = false;
  #wake: (() => void) | undefined;

  constructor(context: SpaceContext, target: WatchTarget) {
    this.#context = context;
    this.#target = target;
    target.signal.addEventListener("abort", this.#ring, { once: true });
    this.#listen().catch((error: unknown) => context.events.fail(error, "listening for hints"));
  }

  quiet(): void {
    this.#isRung = false;
  }

  async rung(): Promise<void> {
    if (this.#isRung || this.#target.signal.aborted) return;
    const { timers, clock, config } = this.#context;
    await new Promise<void>((resolve) => {
      const atMs = clock.monotonicMs() + config.lookMs;
      const timer = timers.schedule(atMs, resolve, { referenced: true });
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#wake = undefined;
  }

  close(): void {
    this.#target.signal.removeEventListener("abort", this.#ring);
    this.#stop.abort();
  }

  #ring = (): void => {
    this.#isRung = true;
    this.#wake?.();
  };

  async #listen(): Promise<void> {
    const { engine, scope } = this.#context;
    const { name, prefix, part } = this.#target;
    const area = [part, scope.namespace];
    const watched = name === null ? area : [...area, name];
    for await (const { key } of engine.watch(watched, { signal: this.#stop.signal })) {
      const hinted = key[2];
      if (hinted === undefined || hinted.startsWith(prefix)) this.#ring();
    }
  }
}
