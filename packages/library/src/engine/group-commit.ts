import type { Decide } from "../core/decision.ts";
import { decodeKey, encodeKey } from "../core/key.ts";
import type { RecordKey } from "../core/key.ts";
import type { DurationMs, MonotonicMs } from "../core/scalars.ts";
import { EngineUnavailableError, SpaceClosedError } from "../errors.ts";
import type { Clock } from "../time/clock.ts";
import { TimerQueue } from "../time/timer-queue.ts";
import type { QueuedTimer } from "../time/timer-queue.ts";
import { CallQueue } from "./call-queue.ts";
import type { CommitDriver, FoundRecord, UnitResult } from "./commit-driver.ts";
import { conflictsMax } from "./contract.ts";
import type { CallOptions, Capabilities, Engine, KeyHint, Page, PageRequest } from "./contract.ts";
import { DecisionCall } from "./decision-call.ts";
import { assertKeyCount } from "./decision-snapshot.ts";
import type { RecordSource } from "./decision-snapshot.ts";
import { HintBoard } from "./hint-board.ts";
import { keyRange } from "./key-range.ts";
import { RecordCache } from "./record-cache.ts";
import type { RecordEntry } from "./record-cache.ts";
import { recordFromText } from "./record-text.ts";
import { TurnPacer } from "./turn-pacer.ts";

export interface GroupCommitOptions {
  /** Records remembered between decisions; default 10,000. */
  readonly cacheEntriesMax?: number | undefined;
  /** Characters of stored text that the remembered records may have; default 32 Mi. */
  readonly cacheSizeMax?: number | undefined;
  /** Units that travel together; default 512. */
  readonly unitsPerBatchMax?: number | undefined;
  /** Calls that may wait; more are refused as unavailable. Default 1,000,000. */
  readonly callsWaitingMax?: number | undefined;
  /** How long a call without a deadline waits for a busy store; default 5 s. */
  readonly patienceMs?: DurationMs | undefined;
}

type Bounds = { readonly [name in keyof GroupCommitOptions]-?: number };

const defaults: Bounds = Object.freeze({
  cacheEntriesMax: 10_000,
  cacheSizeMax: 32 * 2 ** 20,
  unitsPerBatchMax: 512,
  callsWaitingMax: 1_000_000,
  patienceMs: 5000,
});

/** A batch is closed when its units read and write this many records together, ... */
const recordsPerBatchMax = 16_384;
/** ... or hold this many characters, ... */
const sizePerBatchMax = 4 * 2 ** 20;
/** ... or have taken this long to decide. */
const decidingMsMax = 4;
/** How long batches may follow each other without the event loop being let in. */
const turnMsMax = 8;
/** A busy store is given up this long before the deadline, so that the answer is "none" in time. */
const answerMs = 20;

/**
 * An engine over a compare-and-set driver: calls that wait at the same time travel together.
 *
 * A batch: gather (decide each call on what was last seen and on what earlier calls of the batch
 * left) -> commit (one driver call) -> land (settle, remember, decide conflicts again first). One
 * batch is under way at a time; meanwhile calls pile up for the next one.
 */
export class GroupCommit implements Engine {
  readonly capabilities: Capabilities;
  readonly #driver: CommitDriver;
  readonly #clock: Clock;
  readonly #options: Bounds;
  readonly #cache: RecordCache;
  readonly #view: BatchView;
  readonly #board = new HintBoard();
  readonly #deadlines: TimerQueue;
  readonly #pacer: TurnPacer;
  readonly #queue = new CallQueue<DecisionCall>();
  readonly #closers: (() => void)[] = [];
  #scans = 0;
  #isUnderWay = false;
  #closing: Promise<void> | undefined;

  constructor(driver: CommitDriver, clock: Clock, options: GroupCommitOptions = {}) {
    this.capabilities = driver.capabilities;
    this.#driver = driver;
    this.#clock = clock;
    this.#options = withDefaults(options);
    const { cacheEntriesMax, cacheSizeMax } = this.#options;
    this.#cache = new RecordCache({ entriesMax: cacheEntriesMax, sizeMax: cacheSizeMax });
    this.#view = new BatchView(this.#cache);
    // A deadline only rejects a promise, which throws nothing.
    this.#deadlines = new TimerQueue(clock, { onError: () => undefined });
    this.#pacer = new TurnPacer(clock, turnMsMax, () => this.#sendBatch());
  }

  transact<Outcome>(
    keys: readonly RecordKey[],
    decide: Decide<Outcome>,
    options: CallOptions,
  ): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#assertAccepts(options);
      const { signal, deadlineMs } = options;
      const settle = resolve as (outcome: unknown) => void;
      const call = new DecisionCall(keys, decide, { resolve: settle, reject, signal, deadlineMs });
      assertKeyCount(call.keyCount, this.capabilities);
      call.start(this.#watchDeadline(deadlineMs, () => this.#expire(call)));
      this.#queue.push(call);
      if (!this.#isUnderWay) this.#pacer.schedule();
    });
  }

  async scan(prefix: RecordKey, page: PageRequest, options: CallOptions): Promise<Page> {
    const range = keyRange(prefix, page);
    this.#assertAccepts(options);
    const now = this.#driver.now();
    this.#scans += 1;
    try {
      const asked = { ...range, limit: range.limit + 1 };
      const rows = await this.#bounded(options, this.#driver.scan(asked, this.#patience(options)));
      const shown = rows.slice(0, range.limit);
      const records = shown.map(({ key, text }) => ({
        key: decodeKey(key),
        value: recordFromText(text),
      }));
      const next = rows.length > range.limit ? shown.at(-1)?.key : undefined;
      return next === undefined ? { now, records } : { now, records, next };
    } catch (error) {
      this.#cache.clear();
      throw error;
    } finally {
      this.#scans -= 1;
      this.#endWhenIdle();
    }
  }

  watch(prefix: RecordKey, options: { readonly signal: AbortSignal }): AsyncIterable<KeyHint> {
    if (this.#closing !== undefined) throw new SpaceClosedError();
    const { signal } = options;
    let stop: (() => void) | undefined;
    const watcher = this.#board.watch(prefix, signal, () => stop?.());
    if (!signal.aborted) {
      stop = this.#driver.listen?.(encodeKey(prefix), (key) => this.#board.publish(key));
    }
    return watcher;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#closers.push(resolve);
      this.#endWhenIdle();
    });
    this.#board.close();
    this.#deadlines.close();
    this.#cache.clear();
    await this.#driver.close();
  }

  #endWhenIdle(): void {
    if (this.#queue.length > 0 || this.#isUnderWay || this.#scans > 0) return;
    for (const end of this.#closers.splice(0)) end();
  }

  #assertAccepts(options: CallOptions): void {
    if (this.#closing !== undefined) throw new SpaceClosedError();
    options.signal?.throwIfAborted();
    const { deadlineMs } = options;
    if (deadlineMs !== undefined && deadlineMs <= this.#clock.monotonicMs()) {
      throw this.#unavailable("the deadline of the call has passed", "none");
    }
    if (this.#queue.length >= this.#options.callsWaitingMax) {
      throw this.#unavailable(`${this.#queue.length} calls wait already`, "none");
    }
  }

  #unavailable(what: string, outcome: "none" | "unknown"): EngineUnavailableError {
    return new EngineUnavailableError(this.capabilities.engine, what, {
      outcome,
      isTransient: true,
    });
  }

  #watchDeadline(deadlineMs: MonotonicMs | undefined, expire: () => void): QueuedTimer | undefined {
    if (deadlineMs === undefined || deadlineMs === Infinity) return undefined;
    return this.#deadlines.schedule(deadlineMs, expire);
  }

  #expire(call: DecisionCall): void {
    const outcome = call.state === "sent" ? "unknown" : "none";
    call.reject(this.#unavailable("no answer came before the deadline", outcome));
  }

  #patience(call: { readonly deadlineMs?: MonotonicMs | undefined }): DurationMs {
    const { deadlineMs } = call;
    if (deadlineMs === undefined || deadlineMs === Infinity) return this.#options.patienceMs;
    return Math.max(0, deadlineMs - this.#clock.monotonicMs() - answerMs);
  }

  /** The scan's answer, unless the signal or the deadline comes first; reading leaves no trace. */
  async #bounded<Answer>(options: CallOptions, answer: Promise<Answer>): Promise<Answer> {
    const { signal, deadlineMs } = options;
    let stop: (() => void) | undefined;
    const end = new Promise<never>((_resolve, reject) => {
      const timer = this.#watchDeadline(deadlineMs, () => {
        reject(this.#unavailable("no answer came before the deadline", "none"));
      });
      const abort = (): void => reject(signal?.reason);
      signal?.addEventListener("abort", abort);
      stop = (): void => {
        timer?.cancel();
        signal?.removeEventListener("abort", abort);
      };
    });
    try {
      return await Promise.race([answer, end]);
    } finally {
      stop?.();
    }
  }

  #sendBatch(): void {
    if (this.#isUnderWay) return;
    const batch = this.#gather();
    if (batch.length === 0) return this.#next();
    let patienceMs = 0;
    for (const call of batch) patienceMs = Math.max(patienceMs, this.#patience(call));
    this.#isUnderWay = true;
    try {
      const answer = this.#driver.commit(batch, patienceMs);
      if (!(answer instanceof Promise)) return this.#land(batch, answer);
      answer.then(
        (results) => this.#land(batch, results),
        (error: unknown) => this.#fail(batch, error),
      );
    } catch (error) {
      this.#fail(batch, error);
    }
  }

  #gather(): DecisionCall[] {
    const batch: DecisionCall[] = [];
    const { unitsPerBatchMax } = this.#options;
    const untilMs = this.#clock.monotonicMs() + decidingMsMax;
    let records = 0;
    let size = 0;
    this.#view.begin();
    while (batch.length < unitsPerBatchMax && records < recordsPerBatchMax) {
      const call = this.#queue.shift();
      if (call === undefined) break;
      if (call.state === "settled") continue;
      this.#decide(call, batch.length);
      batch.push(call);
      records += call.readKeys.length + call.writeKeys.length;
      for (const entry of call.writeEntries) size += entry.size;
      if (size > sizePerBatchMax) break;
      if (batch.length % 16 === 0 && this.#clock.monotonicMs() > untilMs) break;
    }
    return batch;
  }

  #decide(call: DecisionCall, place: number): void {
    const { capabilities } = this;
    this.#view.found = call.found;
    call.prepare({ now: this.#driver.now(), source: this.#view, capabilities, place });
    call.state = "sent";
    this.#view.leave(call);
  }

  #land(batch: readonly DecisionCall[], results: readonly UnitResult[]): void {
    const again: DecisionCall[] = [];
    for (let i = 0; i < batch.length; i += 1) {
      const call = batch[i] as DecisionCall;
      const result = results[i];
      if (typeof result === "number") this.#commit(call, result);
      else if (result === undefined || result instanceof Error) call.reject(result);
      else this.#meetConflict(call, result, again);
    }
    this.#queue.unshift(again);
    this.#isUnderWay = false;
    this.#next();
  }

  #commit(call: DecisionCall, revision: number): void {
    const { writeKeys, writeEntries } = call;
    for (let i = 0; i < writeKeys.length; i += 1) {
      const entry = writeEntries[i] as RecordEntry;
      entry.revision = revision;
      this.#remember(writeKeys[i] as string, entry);
    }
    call.fulfil();
    if (!this.#board.isWatched) return;
    for (const key of writeKeys) this.#board.publish(key);
    for (const key of call.hintKeys) this.#board.publish(key);
  }

  #meetConflict(call: DecisionCall, found: readonly FoundRecord[], again: DecisionCall[]): void {
    const { readKeys } = call;
    const entries = new Map<string, RecordEntry>();
    for (let i = 0; i < found.length; i += 1) {
      const { text, revision } = found[i] as FoundRecord;
      const key = readKeys[i] as string;
      const value = text === null ? undefined : recordFromText(text);
      const entry = { value, revision, size: key.length + (text?.length ?? 0) };
      this.#remember(key, entry);
      entries.set(key, entry);
    }
    if (call.state === "settled") return;
    call.conflicts += 1;
    if (call.conflicts >= conflictsMax) {
      call.reject(this.#unavailable(`${conflictsMax} conflicts with other clients`, "none"));
      return;
    }
    if (found.length > 0) call.found = entries;
    call.state = "waiting";
    again.push(call);
  }

  /** The whole batch failed; the next decisions start from what is stored then (L116). */
  #fail(batch: readonly DecisionCall[], error: unknown): void {
    this.#cache.clear();
    for (const call of batch) call.reject(error);
    this.#isUnderWay = false;
    this.#next();
  }

  #remember(key: string, entry: RecordEntry): void {
    if (entry.value === undefined) this.#cache.delete(key);
    else this.#cache.set(key, entry);
  }

  #next(): void {
    if (this.#queue.length > 0) this.#pacer.schedule();
    else this.#endWhenIdle();
  }
}

/** What a batch decides on: what its earlier units left, else what was last seen. */
class BatchView implements RecordSource {
  readonly #cache: RecordCache;
  readonly #left = new Map<string, RecordEntry>();
  /** What the deciding call itself found when it met a conflict. */
  found: Map<string, RecordEntry> | undefined;

  constructor(cache: RecordCache) {
    this.#cache = cache;
  }

  begin(): void {
    this.#left.clear();
  }

  entry(storedKey: string): RecordEntry | undefined {
    return this.#left.get(storedKey) ?? this.#cache.get(storedKey) ?? this.found?.get(storedKey);
  }

  leave(call: DecisionCall): void {
    const { writeKeys, writeEntries } = call;
    for (let i = 0; i < writeKeys.length; i += 1) {
      this.#left.set(writeKeys[i] as string, writeEntries[i] as RecordEntry);
    }
  }
}

function withDefaults(options: GroupCommitOptions): Bounds {
  return {
    cacheEntriesMax: options.cacheEntriesMax ?? defaults.cacheEntriesMax,
    cacheSizeMax: options.cacheSizeMax ?? defaults.cacheSizeMax,
    unitsPerBatchMax: options.unitsPerBatchMax ?? defaults.unitsPerBatchMax,
    callsWaitingMax: options.callsWaitingMax ?? defaults.callsWaitingMax,
    patienceMs: options.patienceMs ?? defaults.patienceMs,
  };
}
