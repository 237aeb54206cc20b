import type { DurationMs, MonotonicMs } from "../core/scalars.ts";
import type { Clock, Timer } from "./clock.ts";

/** Most entries that one wake-up fires before the event loop is let in. */
const firesPerTurnMax = 1000;

export interface TimerQueueOptions {
  /** Told of what an entry throws; nothing is ever thrown out of the queue (L50). */
  readonly onError: (error: unknown) => void;
  /** Told how late the earliest entry of a wake-up fires; the stall detection of a space. */
  readonly onLate?: ((latenessMs: DurationMs) => void) | undefined;
}

/** One deadline in the queue. */
export interface QueuedTimer {
  /** Takes the entry out and frees what it holds; does nothing once it has fired. */
  cancel(): void;
}

/**
 * Any number of deadlines over one timer of the clock: a binary heap whose entries know their
 * place.
 *
 * The timer is set again only when an earlier deadline comes to the head; when it fires too early
 * for the head, be it because the head was cancelled or because the clock was hasty, it is set
 * again (L36). It keeps the process alive only while a referenced entry is in the queue.
 */
export class TimerQueue {
  readonly #clock: Clock;
  readonly #options: TimerQueueOptions;
  readonly #heap: Entry[] = [];
  #referenced = 0;
  #timer: Timer | undefined;
  #armedAtMs = Infinity;
  #isFiring = false;

  constructor(clock: Clock, options: TimerQueueOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** Runs `fire` once at `atMs` or later; entries of one instant fire in no promised order. */
  schedule(
    atMs: MonotonicMs,
    fire: () => void,
    options?: { readonly referenced?: boolean | undefined },
  ): QueuedTimer {
    const isReferenced = options?.referenced === true;
    const entry = new Entry(this, atMs, fire, isReferenced);
    this.#place(entry, this.#heap.length);
    this.#rise(entry);
    if (isReferenced && ++this.#referenced === 1) this.#timer?.setReferenced(true);
    if (atMs < this.#armedAtMs && !this.#isFiring) this.#arm();
    return entry;
  }

  /** Takes an entry out; called by the entry itself. */
  remove(entry: Entry): void {
    const { place } = entry;
    if (place < 0) return;
    const last = this.#heap.pop() as Entry;
    entry.place = -1;
    entry.fire = undefined;
    if (entry.isReferenced && --this.#referenced === 0) this.#timer?.setReferenced(false);
    if (last !== entry) {
      this.#place(last, place);
      this.#rise(last);
      this.#sink(last);
    }
    if (this.#heap.length === 0 && !this.#isFiring) this.#disarm();
  }

  /** Drops all entries without firing them. */
  close(): void {
    for (const entry of this.#heap) {
      entry.place = -1;
      entry.fire = undefined;
    }
    this.#heap.length = 0;
    this.#referenced = 0;
    this.#disarm();
  }

  #arm(): void {
    this.#timer?.cancel();
    const [head] = this.#heap;
    if (head === undefined) return this.#disarm();
    this.#armedAtMs = head.atMs;
    const afterMs = Math.max(0, head.atMs - this.#clock.monotonicMs());
    this.#timer = this.#clock.timer(afterMs, () => this.#wake());
    if (this.#referenced > 0) this.#timer.setReferenced(true);
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#armedAtMs = Infinity;
  }

  #wake(): void {
    this.#timer = undefined;
    this.#armedAtMs = Infinity;
    this.#isFiring = true;
    const nowMs = this.#clock.monotonicMs();
    const lateMs = nowMs - (this.#heap[0]?.atMs ?? nowMs);
    if (lateMs > 0) this.#guard(() => this.#options.onLate?.(lateMs));
    for (let fired = 0; fired < firesPerTurnMax; fired += 1) {
      const head = this.#heap[0];
      if (head === undefined || head.atMs > nowMs) break;
      const { fire } = head;
      this.remove(head);
      this.#guard(fire);
    }
    this.#isFiring = false;
    this.#arm();
  }

  #guard(act: (() => void) | undefined): void {
    try {
      act?.();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #place(entry: Entry, place: number): void {
    this.#heap[place] = entry;
    entry.place = place;
  }

  #rise(entry: Entry): void {
    while (entry.place > 0) {
      const above = this.#heap[(entry.place - 1) >> 1] as Entry;
      if (above.atMs <= entry.atMs) return;
      this.#swap(above, entry);
    }
  }

  #sink(entry: Entry): void {
    for (;;) {
      const left = this.#heap[2 * entry.place + 1];
      const right = this.#heap[2 * entry.place + 2];
      const least = right !== undefined && right.atMs < (left as Entry).atMs ? right : left;
      if (least === undefined || least.atMs >= entry.atMs) return;
      this.#swap(entry, least);
    }
  }

  #swap(above: Entry, below: Entry): void {
    const { place } = above;
    this.#place(above, below.place);
    this.#place(below, place);
  }
}

class Entry implements QueuedTimer {
  readonly #queue: TimerQueue;
  readonly atMs: MonotonicMs;
  readonly isReferenced: boolean;
  fire: (() => void) | undefined;
  place = -1;

  constructor(queue: TimerQueue, atMs: MonotonicMs, fire: () => void, isReferenced: boolean) {
    this.#queue = queue;
    this.atMs = atMs;
    this.fire = fire;
    this.isReferenced = isReferenced;
  }

  cancel(): void {
    this.#queue.remove(this);
  }
}
