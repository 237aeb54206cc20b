import type { Decision, Snapshot } from "../core/decision.ts";
import type { LeftOver, Outcome } from "../core/lock/outcome.ts";
import type { EndFacts, GrantFacts } from "../core/lock/facts.ts";
import type { RecordKey } from "../core/key.ts";
import type { DurationMs, EpochMs, MonotonicMs } from "../core/scalars.ts";
import type { Page, PageRequest } from "../engine/contract.ts";
import { EngineUnavailableError, LockAbortedError, SpaceClosedError } from "../errors.ts";
import type { SpaceContext } from "./space-context.ts";

/** An answer, and when the attempt that brought it was handed to the engine (L56). */
export interface Answered<Result> {
  readonly outcome: Result;
  readonly sentAtMs: MonotonicMs;
  /** An earlier attempt of the same call had an unknown outcome. */
  readonly wasUnknown: boolean;
}

export interface CallBounds {
  readonly deadlineMs: MonotonicMs;
  readonly signal?: AbortSignal | undefined;
  /** A waiting call keeps the process alive between attempts (L120). */
  readonly isBackground?: boolean | undefined;
}

/** What an answer may bring beside its outcome. */
export interface AnswerListener {
  /** A commit has made a grant for a ticket of this space. */
  receive(grant: GrantFacts, sentAtMs: MonotonicMs): void;
  /** A commit has left tickets over at the widening bound: they are to be settled at once (L19). */
  leftOver(left: LeftOver): void;
  /** The host seems to have slept since the last answer (L60). */
  suspended(gapMs: DurationMs): void;
}

/** First and longest pause between attempts of one engine call; full jitter (section 8). */
const backOffMs = 50;
const backOffMsMax = 1_000;

/**
 * Runs decisions on the engine for the shells of one space: repeats what may be repeated until the
 * call's deadline, and sees to what a commit did beside its answer.
 */
export class EngineCalls {
  readonly #context: SpaceContext;
  readonly #listener: AnswerListener;
  readonly #pauses: Set<() => void> = new Set();

  constructor(context: SpaceContext, listener: AnswerListener) {
    this.#context = context;
    this.#listener = listener;
  }

  /** The deadline of a call that does not wait. */
  deadlineMs(): MonotonicMs {
    return this.#context.clock.monotonicMs() + this.#context.config.callTimeoutMs;
  }

  /** One attempt. Effects of the commit are seen to before the answer is given. */
  async once<Result>(
    keys: readonly RecordKey[],
    decide: (snapshot: Snapshot) => Decision<Outcome<Result>>,
    bounds: CallBounds,
  ): Promise<Answered<Outcome<Result>>> {
    const sentAtMs = this.#context.clock.monotonicMs();
    const outcome = await this.#context.engine.transact(keys, decide, bounds);
    this.settle(outcome, sentAtMs);
    return { outcome, sentAtMs, wasUnknown: false };
  }

  /**
   * Attempts until an answer comes or the deadline is over. `decide` is told whether an earlier
   * attempt may have been stored. Rejects with `EngineUnavailableError`; its outcome is `unknown`
   * when any attempt's was.
   */
  async untilAnswered<Result>(
    keys: readonly RecordKey[],
    decide: (snapshot: Snapshot, isRepeat: boolean) => Decision<Outcome<Result>>,
    bounds: CallBounds,
  ): Promise<Answered<Outcome<Result>>> {
    const answered = await this.plain(keys, decide, bounds);
    this.settle(answered.outcome, answered.sentAtMs);
    return answered;
  }

  /** The same for a decision that is not about one lock and has no effects beside its outcome. */
  async plain<Result>(
    keys: readonly RecordKey[],
    decide: (snapshot: Snapshot, isRepeat: boolean) => Decision<Result>,
    bounds: CallBounds,
  ): Promise<Answered<Result>> {
    const { engine } = this.#context;
    return this.#repeated(bounds, (isRepeat) =>
      engine.transact(keys, (snapshot) => decide(snapshot, isRepeat), bounds),
    );
  }

  /**
   * One page of a listing, repeated like any call until the deadline of one that does not wait. A
   * fired signal rejects with `LOCK_ABORTED`.
   */
  async scan(prefix: RecordKey, page: PageRequest, signal?: AbortSignal): Promise<Page> {
    const { engine } = this.#context;
    const bounds = { deadlineMs: this.deadlineMs(), signal };
    return abortable(null, signal, async () => {
      const { outcome } = await this.#repeated(bounds, () => engine.scan(prefix, page, bounds));
      return outcome;
    });
  }

  async #repeated<Result>(
    bounds: CallBounds,
    attemptOnce: (isRepeat: boolean) => Promise<Result>,
  ): Promise<Answered<Result>> {
    const { clock } = this.#context;
    let wasUnknown = false;
    // Bounded by the deadline of the call.
    for (let attempt = 0; ; attempt += 1) {
      const sentAtMs = clock.monotonicMs();
      try {
        // oxlint-disable-next-line no-await-in-loop -- bounded by the deadline
        const outcome = await attemptOnce(wasUnknown);
        return { outcome, sentAtMs, wasUnknown };
      } catch (error) {
        if (!(error instanceof EngineUnavailableError)) throw error;
        wasUnknown ||= error.outcome === "unknown";
        const isWorthwhile = error.isTransient || error.outcome === "unknown";
        const pauseMs = this.pauseMs(attempt);
        if (!isWorthwhile || clock.monotonicMs() + pauseMs >= bounds.deadlineMs) {
          throw withOutcome(error, wasUnknown);
        }
        // oxlint-disable-next-line no-await-in-loop -- the pause between two attempts
        await this.pause(pauseMs, bounds);
      }
    }
  }

  /** The pause before the attempt after this one. */
  pauseMs(attempt: number): number {
    const most = Math.min(backOffMsMax, backOffMs * 2 ** Math.min(attempt, 10));
    return most * this.#context.entropy.fraction();
  }

  async pause(pauseMs: number, bounds: Pick<CallBounds, "signal" | "isBackground">): Promise<void> {
    const { timers, clock } = this.#context;
    const { signal } = bounds;
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        timer.cancel();
        signal?.removeEventListener("abort", onAbort);
        this.#pauses.delete(onClose);
        act();
      };
      const onAbort = (): void => settle(() => reject(signal?.reason));
      const onClose = (): void => settle(() => reject(new SpaceClosedError()));
      const referenced = bounds.isBackground !== true;
      const atMs = clock.monotonicMs() + pauseMs;
      const timer = timers.schedule(atMs, () => settle(resolve), { referenced });
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#pauses.add(onClose);
    });
  }

  /** Ends every pause, so that no call is left waiting for a timer that never fires (I18). */
  close(): void {
    for (const end of this.#pauses) end();
  }

  /** Sees to what a commit did beside its answer: grants for own tickets, ends, clock steps. */
  settle(outcome: Outcome<unknown>, sentAtMs: MonotonicMs): void {
    this.noteTime(outcome.now, sentAtMs);
    const { granted, reclaimed, withdrawn } = outcome.effects;
    for (const grant of granted) this.#listener.receive(grant, sentAtMs);
    for (const end of reclaimed) this.#tellEnd("reclaimed", end);
    for (const end of withdrawn) this.#tellEnd("withdrawn", end);
    for (const left of outcome.leftOver) this.#listener.leftOver(left);
  }

  noteTime(engineMs: EpochMs, sentAtMs: MonotonicMs): void {
    const { contact } = this.#context;
    const gapMs = contact.suspendedMs();
    if (gapMs > 0) this.#listener.suspended(gapMs);
    const stepMs = contact.answered(engineMs, sentAtMs);
    if (stepMs !== 0) this.#context.events.emit("clockStep", { stepMs });
  }

  #tellEnd(event: "reclaimed" | "withdrawn", { name, token, owner }: EndFacts): void {
    this.#context.events.emit(event, { name, token, owner });
  }
}

/** Runs a call that a signal may end; the signal's reason becomes the cause (section 12). */
export async function abortable<Result>(
  lock: string | null,
  signal: AbortSignal | undefined,
  call: () => Promise<Result>,
): Promise<Result> {
  if (signal === undefined) return call();
  if (signal.aborted) throw new LockAbortedError(lock, signal.reason);
  try {
    return await call();
  } catch (error) {
    if (signal.aborted && error === signal.reason) throw new LockAbortedError(lock, error);
    throw error;
  }
}

/** The error as one of unknown outcome, when an earlier attempt of the same call was (6.6). */
export function withOutcome(
  error: EngineUnavailableError,
  wasUnknown: boolean,
): EngineUnavailableError {
  if (!wasUnknown || error.outcome === "unknown") return error;
  return new EngineUnavailableError(error.engine, "a later attempt failed", {
    outcome: "unknown",
    isTransient: error.isTransient,
    cause: error,
  });
}
