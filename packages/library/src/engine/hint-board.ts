import { decodeKey, encodeKey } from "../core/key.ts";
import type { RecordKey } from "../core/key.ts";
import type { KeyHint } from "./contract.ts";

/** Most different keys that wait for one watcher; beyond, one hint stands for the whole area. */
const pendingMax = 1024;

/**
 * The watchers of one process, by the stored form of the prefix they watch.
 *
 * A hint that nobody has taken yet is not kept twice, and too many become one for the area.
 */
export class HintBoard {
  readonly #watchers = new Map<string, Set<Watcher>>();
  #isClosed = false;

  /** Whether anybody watches anything; a commit asks this before it makes hints. */
  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  /** Watches `prefix` until the signal fires, the consumer stops or the board closes. */
  watch(prefix: RecordKey, signal: AbortSignal, onEnd?: () => void): AsyncIterable<KeyHint> {
    const area = encodeKey(prefix);
    const watcher = new Watcher(area, signal, () => {
      this.#leave(area, watcher);
      onEnd?.();
    });
    if (this.#isClosed || signal.aborted) {
      watcher.end();
      return watcher;
    }
    const group = this.#watchers.get(area) ?? new Set();
    group.add(watcher);
    this.#watchers.set(area, group);
    return watcher;
  }

  /** Tells everybody whose prefix the stored key, or area, begins with. */
  publish(storedKey: string): void {
    if (this.#watchers.size === 0) return;
    this.#tell("", storedKey);
    for (let at = storedKey.indexOf("/"); at >= 0; at = storedKey.indexOf("/", at + 1)) {
      this.#tell(storedKey.slice(0, at), storedKey);
    }
    if (storedKey !== "") this.#tell(storedKey, storedKey);
  }

  /** Ends every watch. */
  close(): void {
    this.#isClosed = true;
    for (const group of this.#watchers.values()) for (const watcher of group) watcher.end();
  }

  #tell(area: string, storedKey: string): void {
    const group = this.#watchers.get(area);
    if (group !== undefined) for (const watcher of group) watcher.add(storedKey);
  }

  #leave(area: string, watcher: Watcher): void {
    const group = this.#watchers.get(area);
    if (group?.delete(watcher) === true && group.size === 0) this.#watchers.delete(area);
  }
}

/** One watch: waiting | has hints | ended. */
class Watcher implements AsyncIterable<KeyHint>, AsyncIterator<KeyHint, undefined> {
  readonly #area: string;
  readonly #signal: AbortSignal;
  readonly #onEnd: () => void;
  readonly #pending = new Set<string>();
  #takers: ((result: IteratorResult<KeyHint, undefined>) => void)[] = [];
  #isEnded = false;

  constructor(area: string, signal: AbortSignal, onEnd: () => void) {
    this.#area = area;
    this.#signal = signal;
    this.#onEnd = onEnd;
    signal.addEventListener("abort", this);
  }

  /** The signal's listener; an object instead of a closure, so that it can be taken off again. */
  handleEvent(): void {
    this.end();
  }

  [Symbol.asyncIterator](): AsyncIterator<KeyHint, undefined> {
    return this;
  }

  add(storedKey: string): void {
    if (this.#isEnded) return;
    const taker = this.#takers.shift();
    if (taker !== undefined) taker({ done: false, value: hintOf(storedKey) });
    else if (this.#pending.size < pendingMax) this.#pending.add(storedKey);
    else this.#collapse();
  }

  async next(): Promise<IteratorResult<KeyHint, undefined>> {
    if (this.#isEnded) return { done: true, value: undefined };
    for (const storedKey of this.#pending) {
      this.#pending.delete(storedKey);
      return { done: false, value: hintOf(storedKey) };
    }
    return new Promise((resolve) => {
      this.#takers.push(resolve);
    });
  }

  async return(): Promise<IteratorResult<KeyHint, undefined>> {
    this.end();
    return { done: true, value: undefined };
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#signal.removeEventListener("abort", this);
    this.#pending.clear();
    const takers = this.#takers;
    this.#takers = [];
    for (const taker of takers) taker({ done: true, value: undefined });
    this.#onEnd();
  }

  #collapse(): void {
    this.#pending.clear();
    this.#pending.add(this.#area);
  }
}

function hintOf(storedKey: string): KeyHint {
  return { key: storedKey === "" ? [] : decodeKey(storedKey) };
}
