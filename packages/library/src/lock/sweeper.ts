import { decodeLock } from "../core/lock/codec.ts";
import { floorKey, lockKey, sweepKey } from "../core/lock/keys.ts";
import type { RecordKey } from "../core/key.ts";
import type { LockScope } from "../core/lock/scope.ts";
import {
  decideAdvance,
  decideForget,
  decideRaiseCounter,
  decideRaiseFloor,
  decideSweep,
  decideSweepTurn,
  sweepVerdict,
} from "../core/lock/sweep.ts";
import type { Page, PageRequest } from "../engine/contract.ts";
import { LockAbortedError, SpaceClosedError } from "../errors.ts";
import type { QueuedTimer } from "../time/timer-queue.ts";
import type { Background } from "./background.ts";
import type { EngineCalls } from "./engine-calls.ts";
import type { SweepCounts } from "./space-api.ts";
import type { SpaceContext } from "./space-context.ts";

/** Records that are listed, or deleted, in one engine call. */
const recordsPerStep = 100;

/**
 * Deletes what nobody needs any more (L123): idle locks, dead presences, old audit entries.
 *
 * Every space runs it now and then; a record in the store gives the turn to one process at a time.
 */
export class Sweeper {
  readonly #context: SpaceContext;
  readonly #calls: EngineCalls;
  readonly #background: Background;
  readonly #stop = new AbortController();
  #timer: QueuedTimer | undefined;

  constructor(context: SpaceContext, calls: EngineCalls, background: Background) {
    this.#context = context;
    this.#calls = calls;
    this.#background = background;
  }

  start(): void {
    const { config } = this.#context;
    if (config.sweepMs === null || config.isReadOnly) return;
    this.#plan(config.sweepMs);
  }

  close(): void {
    this.#timer?.cancel();
    this.#stop.abort();
  }

  /** Sweeps now, whosever turn it is; deletes at most `budget` records. */
  async sweep(budget: number, signal?: AbortSignal): Promise<SweepCounts> {
    const stops = signal === undefined ? [this.#stop.signal] : [this.#stop.signal, signal];
    const stop = AbortSignal.any(stops);
    if (signal?.aborted === true) throw new LockAbortedError(null, signal.reason);
    const { namespace } = this.#context.scope;
    const { scope, semaphoreScope } = this.#context;
    const plain = await this.#pages(["lock", namespace], { budget, stop }, (page) =>
      this.#sweepLocks(page, scope),
    );
    const others = { budget: budget - plain, stop };
    const semaphores = await this.#pages(["semaphore", namespace], others, (page) =>
      this.#sweepLocks(page, semaphoreScope),
    );
    const locks = plain + semaphores;
    const rest = { budget: budget - locks, stop };
    const presences = await this.#pages(["presence", namespace], rest, (page) =>
      this.#forget(page),
    );
    const batch = { budget: rest.budget - presences, stop };
    const batches = await this.#pages(["batch", namespace], batch, (page) => this.#forget(page));
    const last = { budget: batch.budget - batches, stop };
    const audits = await this.#pages(["audit", namespace], last, (page) => this.#forget(page));
    return { locks, presences, batches, audits };
  }

  /** Raises the floor first, then every existing counter (L65). */
  async raiseFloor(to: number, reason: string): Promise<number> {
    const { scope } = this.#context;
    const command = { scope, to };
    const { outcome: floor } = await this.#calls.plain(
      [floorKey(scope.namespace)],
      (snapshot) => decideRaiseFloor(snapshot, command),
      { deadlineMs: this.#calls.deadlineMs() },
    );
    const everything = { budget: Infinity, stop: this.#stop.signal };
    for (const each of [scope, this.#context.semaphoreScope]) {
      const prefix = [each.part ?? "lock", scope.namespace];
      // oxlint-disable-next-line no-await-in-loop -- two families of records
      await this.#pages(prefix, everything, async (page) => {
        const names = page.records.map(({ key }) => key[2] as string);
        await Promise.all(names.map((name) => this.#raise(each, name, floor, reason)));
        return 0;
      });
    }
    // Counters beyond the last page are as they were: the caller must not rely on them.
    if (this.#stop.signal.aborted) throw new SpaceClosedError();
    return floor;
  }

  async #raise(scope: LockScope, name: string, to: number, reason: string): Promise<void> {
    await this.#calls.untilAnswered(
      [lockKey(scope.namespace, name, scope.part)],
      (snapshot) => decideRaiseCounter(snapshot, { scope, name, to, reason }),
      { deadlineMs: this.#calls.deadlineMs() },
    );
  }

  #plan(periodMs: number): void {
    const { timers, clock, entropy } = this.#context;
    const atMs = clock.monotonicMs() + periodMs * (1 - entropy.fraction() / 10);
    this.#timer = timers.schedule(atMs, () => {
      this.#background.run("sweeping", () => this.#takeTurn(periodMs));
      this.#plan(periodMs);
    });
  }

  async #takeTurn(periodMs: number): Promise<void> {
    const { scope } = this.#context;
    const { outcome: isOurs } = await this.#calls.plain(
      [sweepKey(scope.namespace)],
      (snapshot) => decideSweepTurn(snapshot, { scope, periodMs: periodMs / 2 }),
      { deadlineMs: this.#calls.deadlineMs(), isBackground: true },
    );
    if (isOurs && !this.#stop.signal.aborted) await this.sweep(Infinity);
  }

  /** Walks over all records of a prefix; `step` says how many it has deleted. */
  async #pages(
    prefix: RecordKey,
    bounds: { readonly budget: number; readonly stop: AbortSignal },
    step: (page: Page) => Promise<number>,
  ): Promise<number> {
    let after: string | undefined;
    let count = 0;
    // Bounded by the records there are and by the budget.
    while (count < bounds.budget && !bounds.stop.aborted) {
      const limit = Math.min(recordsPerStep, Math.max(1, bounds.budget - count));
      // oxlint-disable-next-line no-await-in-loop -- each page begins where the one before ended
      const page = await this.#page(prefix, { limit, after }, bounds.stop);
      if (page === undefined) break;
      // oxlint-disable-next-line no-await-in-loop -- one page at a time, so that others get in
      count += await step(page);
      if (page.next === undefined) break;
      after = page.next;
    }
    return count;
  }

  /** A page; undefined when the walk was stopped meanwhile, which is no failure. */
  async #page(
    prefix: RecordKey,
    request: PageRequest,
    stop: AbortSignal,
  ): Promise<Page | undefined> {
    try {
      return await this.#calls.scan(prefix, request, stop);
    } catch (error) {
      if (error instanceof LockAbortedError) return undefined;
      throw error;
    }
  }

  async #sweepLocks(page: Page, scope: LockScope): Promise<number> {
    const { config, events } = this.#context;
    const { retention } = config;
    const deletable: string[] = [];
    const stale: string[] = [];
    for (const { key, value } of page.records) {
      try {
        const record = decodeLock(key, value);
        const verdict = sweepVerdict(record, page.now, retention, scope.clockErrorMs);
        if (verdict === "delete") deletable.push(key[2] as string);
        if (verdict === "advance") stale.push(key[2] as string);
      } catch (error) {
        events.fail(error, "sweeping");
      }
    }
    await Promise.all(stale.map((name) => this.#advance(scope, name)));
    if (deletable.length === 0) return 0;
    const command = { scope, names: deletable, retention };
    const { outcome } = await this.#calls.plain(
      [
        ...deletable.map((name) => lockKey(scope.namespace, name, scope.part)),
        floorKey(scope.namespace),
      ],
      (snapshot) => decideSweep(snapshot, command),
      { deadlineMs: this.#calls.deadlineMs(), isBackground: true },
    );
    for (const { name, token, owner } of outcome.reclaimed) {
      events.emit("reclaimed", { name, token, owner });
    }
    return outcome.deleted.length;
  }

  async #advance(scope: LockScope, name: string): Promise<void> {
    await this.#calls.untilAnswered(
      [lockKey(scope.namespace, name, scope.part)],
      (snapshot) => decideAdvance(snapshot, { scope, name }),
      { deadlineMs: this.#calls.deadlineMs(), isBackground: true },
    );
  }

  async #forget(page: Page): Promise<number> {
    const keys = page.records.map(({ key }) => key);
    if (keys.length === 0) return 0;
    const { retention } = this.#context.config;
    const { outcome } = await this.#calls.plain(
      keys,
      (snapshot) => decideForget(snapshot, { keys, retention }),
      { deadlineMs: this.#calls.deadlineMs(), isBackground: true },
    );
    return outcome;
  }
}
