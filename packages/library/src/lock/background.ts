import type { LeftOver } from "../core/lock/outcome.ts";
import { decideCancel } from "../core/lock/cancel.ts";
import { lockKey } from "../core/lock/keys.ts";
import { decideAdvance } from "../core/lock/sweep.ts";
import type { LockScope } from "../core/lock/scope.ts";
import type { DurationMs } from "../core/scalars.ts";
import type { EngineCalls } from "./engine-calls.ts";
import type { SpaceContext } from "./space-context.ts";

export interface GivenUpAttempt {
  readonly scope: LockScope;
  /** All its locks; `number` is the one on the first. */
  readonly names: readonly string[];
  readonly id: string;
  readonly number: number | null;
  readonly leaseMs: DurationMs;
}

/**
 * Work that goes on after its call has settled: the cancelling of given-up attempts (6.6).
 *
 * Each cancel is repeated until it is known to have taken effect, but no longer than what it would
 * cancel can live: a grant for its length, a ticket for as long as the presence does.
 */
export class Background {
  readonly #context: SpaceContext;
  readonly #calls: EngineCalls;
  readonly #running: Set<Promise<void>> = new Set();
  /** Locks whose left-over tickets are about to be settled. */
  readonly #advancing: Set<string> = new Set();

  constructor(context: SpaceContext, calls: EngineCalls) {
    this.#context = context;
    this.#calls = calls;
  }

  get size(): number {
    return this.#running.size;
  }

  cancel(attempt: GivenUpAttempt): void {
    const { config, clock } = this.#context;
    const { scope, names, id, number } = attempt;
    const [name = "", ...also] = names;
    const lastsMs = Math.max(attempt.leaseMs, config.presenceMs) + config.callTimeoutMs;
    const command = { scope, name, also, id, number };
    const keys = names.map((each) => lockKey(scope.namespace, each, scope.part));
    this.run(`cancelling an attempt on ${JSON.stringify(name)}`, async () => {
      await this.#calls.untilAnswered(keys, (snapshot) => decideCancel(snapshot, command), {
        deadlineMs: clock.monotonicMs() + lastsMs,
        isBackground: true,
      });
    });
  }

  /**
   * Goes on with the tickets that a commit has left over; its own commit may leave some over again,
   * but settles at least one (L19, L131).
   */
  advance({ name, part, from }: LeftOver): void {
    const address = `${part}/${name}`;
    if (this.#advancing.has(address)) return;
    this.#advancing.add(address);
    const { config, clock, semaphoreScope } = this.#context;
    const scope = part === "lock" ? this.#context.scope : semaphoreScope;
    this.run(`advancing ${JSON.stringify(name)}`, async () => {
      const deadlineMs = clock.monotonicMs() + config.callTimeoutMs;
      const answered = this.#calls.plain(
        [lockKey(scope.namespace, name, part)],
        (snapshot) => decideAdvance(snapshot, { scope, name, from }),
        { deadlineMs, isBackground: true },
      );
      // What this commit leaves over is the next advance's.
      const { outcome, sentAtMs } = await answered.finally(() => this.#advancing.delete(address));
      this.#calls.settle(outcome, sentAtMs);
    });
  }

  /** Runs work that nobody awaits; a failure becomes an `error` event. */
  run(during: string, work: () => Promise<void>): void {
    const running: Promise<void> = work()
      .catch((error: unknown) => this.#context.events.fail(error, during))
      .finally(() => {
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  /** Lets a closing space wait for a call that is under way; its outcome is its caller's. */
  hold<Value>(call: Promise<Value>): Promise<Value> {
    const held = call.then(
      () => undefined,
      () => undefined,
    );
    this.#running.add(held);
    void held.finally(() => this.#running.delete(held));
    return call;
  }

  /** Resolves when all that runs, and what that starts in turn, has ended. */
  async settled(): Promise<void> {
    // Bounded by the deadlines of what runs: a closed space begins nothing new of itself.
    while (this.#running.size > 0) {
      // oxlint-disable-next-line no-await-in-loop -- what has ended may have begun a cancel
      await Promise.all(this.#running);
    }
  }
}
