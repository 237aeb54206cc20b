import type { Decide, Decided } from "../core/decision.ts";
import { encodeKey } from "../core/key.ts";
import type { RecordKey } from "../core/key.ts";
import type { EpochMs, MonotonicMs } from "../core/scalars.ts";
import { EngineUnavailableError } from "../errors.ts";
import type { QueuedTimer } from "../time/timer-queue.ts";
import type { CommitUnit } from "./commit-driver.ts";
import type { Capabilities } from "./contract.ts";
import {
  assertDistinct,
  DecisionSnapshot,
  decideWidening,
  placeOfWrite,
} from "./decision-snapshot.ts";
import type { RecordSource } from "./decision-snapshot.ts";
import type { RecordEntry } from "./record-cache.ts";
import { exceedsBytes, recordToText } from "./record-text.ts";

const none: readonly never[] = Object.freeze([]);

/** What a call needs in order to decide. */
export interface DecidingContext {
  readonly now: EpochMs;
  readonly source: RecordSource;
  readonly capabilities: Capabilities;
  /** The place of the call in its batch. */
  readonly place: number;
}

/** How a call is settled, and until when it wants to be. */
export interface CallEnds {
  readonly resolve: (outcome: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly signal: AbortSignal | undefined;
  readonly deadlineMs: MonotonicMs | undefined;
}

/**
 * One `transact` call: waiting -> sent -> settled, or back to waiting after a conflict.
 *
 * It is the unit that the driver commits and the listener of its own signal, so that a call costs
 * few objects. A settled call stays in the batch that carries it; its outcome is then nobody's.
 */
export class DecisionCall implements CommitUnit {
  readonly #decide: Decide<unknown>;
  readonly #ends: CallEnds;
  readonly #keyCount: number;
  readonly #snapshot = new DecisionSnapshot();
  #outcome: unknown;
  #failure: { readonly error: unknown } | undefined;
  #timer: QueuedTimer | undefined;

  state: "waiting" | "sent" | "settled" = "waiting";
  conflicts = 0;
  /** What the store held when the call last met a conflict; outlives the cache's memory. */
  found: Map<string, RecordEntry> | undefined;

  readRevisions: readonly number[] = none;
  writeKeys: readonly string[] = none;
  writeTexts: readonly (string | null)[] = none;
  hintKeys: readonly string[] = none;
  /** The written records, to be seen by later units of the batch. */
  writeEntries: readonly RecordEntry[] = none;
  decidedAt: EpochMs = 0;
  validUntil: EpochMs = Infinity;

  constructor(keys: readonly RecordKey[], decide: Decide<unknown>, ends: CallEnds) {
    this.#decide = decide;
    this.#ends = ends;
    this.#snapshot.add(keys);
    this.#keyCount = this.#snapshot.size;
  }

  /** How many different records the call itself named. */
  get keyCount(): number {
    return this.#keyCount;
  }

  get readKeys(): readonly string[] {
    return this.#snapshot.storedKeys;
  }

  get deadlineMs(): MonotonicMs | undefined {
    return this.#ends.deadlineMs;
  }

  /** Begins to listen to the signal; `timer` is the deadline's. */
  start(timer: QueuedTimer | undefined): void {
    this.#timer = timer;
    this.#ends.signal?.addEventListener("abort", this);
  }

  handleEvent(): void {
    this.reject(this.#ends.signal?.reason);
  }

  /**
   * Decides on what the source knows. What `decide` throws is kept, because it may be due to a
   * record that has changed since: it is told only after the reads have been compared.
   */
  prepare(context: DecidingContext): void {
    const snapshot = this.#snapshot;
    if (snapshot.size > this.#keyCount) snapshot.shrinkTo(this.#keyCount);
    snapshot.load(context.source, 0);
    snapshot.now = context.now;
    this.decidedAt = context.now;
    this.validUntil = Infinity;
    this.writeKeys = none;
    this.writeTexts = none;
    this.writeEntries = none;
    this.hintKeys = none;
    this.#failure = undefined;
    try {
      const { capabilities, source } = context;
      this.#take(decideWidening(snapshot, this.#decide, source, capabilities), context);
    } catch (error) {
      this.#failure = { error };
    }
    const { entries } = snapshot;
    const revisions: number[] = [];
    for (let i = 0; i < entries.length; i += 1) revisions.push(entries[i]?.revision ?? 0);
    this.readRevisions = revisions;
  }

  /** Gives the outcome, or the throw, that is now known to rest on what was stored. */
  fulfil(): void {
    if (this.#failure !== undefined) return this.reject(this.#failure.error);
    if (this.state === "settled") return;
    this.#settle();
    this.#ends.resolve(this.#outcome);
  }

  reject(error: unknown): void {
    if (this.state === "settled") return;
    this.#settle();
    this.#ends.reject(error);
  }

  #settle(): void {
    this.state = "settled";
    this.#timer?.cancel();
    this.#ends.signal?.removeEventListener("abort", this);
  }

  #take(decided: Decided<unknown>, context: DecidingContext): void {
    const { writes, hints } = decided;
    if (writes.length > 0) {
      const keys: string[] = [];
      const texts: (string | null)[] = [];
      const entries: RecordEntry[] = [];
      for (const { key, value } of writes) {
        const storedKey = this.#snapshot.storedKeys[placeOfWrite(this.#snapshot, key)] as string;
        const text = value === null ? null : recordToText(value);
        if (text !== null) assertRecordSize(storedKey, text, context.capabilities);
        keys.push(storedKey);
        texts.push(text);
        entries.push({
          value: value ?? undefined,
          revision: -1 - context.place,
          size: storedKey.length + (text?.length ?? 0),
        });
      }
      assertDistinct(keys);
      this.writeKeys = keys;
      this.writeTexts = texts;
      this.writeEntries = entries;
    }
    if (hints !== undefined && hints.length > 0) this.hintKeys = hints.map(encodeKey);
    this.validUntil = decided.validUntil ?? Infinity;
    this.#outcome = decided.outcome;
  }
}

function assertRecordSize(storedKey: string, text: string, capabilities: Capabilities): void {
  const { engine, recordBytesMax } = capabilities;
  if (!exceedsBytes(text, recordBytesMax)) return;
  const what = `the record ${storedKey} would take more than ${recordBytesMax} bytes`;
  throw new EngineUnavailableError(engine, what, { outcome: "none", isTransient: false });
}
