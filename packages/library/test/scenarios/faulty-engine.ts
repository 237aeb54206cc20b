import { isNeeds, type Decide, type Decision, type Snapshot } from "../../src/core/decision.ts";
import type { Write } from "../../src/core/decision.ts";
import { encodeKey, type RecordKey } from "../../src/core/key.ts";
import type { Json } from "../../src/core/scalars.ts";
import type {
  CallOptions,
  Capabilities,
  Engine,
  KeyHint,
  Page,
  PageRequest,
} from "../../src/engine/contract.ts";
import { EngineUnavailableError } from "../../src/errors.ts";
import type { Clock } from "../../src/time/clock.ts";

/**
 * What happens to one engine call.
 *
 * `fail`: nothing is stored, for good. `drop`: nothing is stored, and trying again may help.
 * `unknown-applied`, `unknown-lost`: stored or not, and nobody knows. `delay`: sent after so long;
 * `late-answer`: stored at once, answered after so long; `late-unknown`: the answer is unknown at
 * once and the call is applied after so long; `hang`: no answer before the deadline, not stored.
 *
 * `late-packet`: decided at once, but the commit is on its way for so long; the answer is unknown
 * at once. It is stored as decided then, or refused when anything it read was written since.
 * `twice`: passes, and the same commit arrives once more after so long.
 */
export type Fault =
  | { readonly kind: "pass" | "fail" | "drop" | "unknown-applied" | "unknown-lost" | "hang" }
  | {
      readonly kind: "delay" | "late-answer" | "late-unknown" | "late-packet" | "twice";
      readonly ms: number;
    };

/** A call that reaches the engine: the keys it names, and how many came before it. */
export interface SeenCall {
  readonly keys: readonly RecordKey[];
  readonly serial: number;
}

/** What all engines of one world have in common: the store, as far as the engines do not tell. */
export interface SharedStore {
  /** The clock by which the engines themselves run. */
  readonly clock: Clock;
  /** By how much the store's own clock was set. */
  stepMs: number;
  /** How often each record was written, by stored key. */
  readonly revisions: Map<string, number>;
}

/** A decision on its way to the store. */
interface Packet {
  readonly writes: readonly Write[];
  readonly validUntil: number | undefined;
  /** Stored keys that were read, with their revisions. */
  readonly reads: ReadonlyMap<string, number>;
  readonly keys: readonly RecordKey[];
}

/** How often a late commit is tried at most; the engine refuses it by a conflict. */
const arrivalsMax = 3;

/** An engine between a space and its store, where a test cuts and delays the connection. */
export class FaultyEngine implements Engine {
  readonly capabilities: Capabilities;
  /** The fault of each call; every call passes by default. */
  fault: (call: SeenCall) => Fault = () => ({ kind: "pass" });
  /** While true, no hint comes through. */
  dropsHints = false;
  calls = 0;
  /** Listings and watches that were begun; the faults are for calls alone. */
  listings = 0;
  /** How often a decision was run, those included that met a conflict. */
  decisions = 0;
  /** What became of late packets, in the order of their arrival. */
  readonly arrivals: ("committed" | "refused")[] = [];
  /** Commits that wrote something, with the keys they wrote. */
  readonly commits: { readonly writes: readonly { key: RecordKey; value: Json | null }[] }[] = [];
  readonly #inner: Engine;
  readonly #clock: Clock;
  readonly #store: SharedStore;

  constructor(
    inner: Engine,
    clock: Clock,
    capabilities: Partial<Capabilities> = {},
    store: SharedStore = { clock, stepMs: 0, revisions: new Map() },
  ) {
    this.#inner = inner;
    this.#clock = clock;
    this.#store = store;
    this.capabilities = { ...inner.capabilities, ...capabilities };
  }

  /** Lets the next `count` calls meet a fault, and all later ones pass. */
  failNext(fault: Fault, count = 1): void {
    let left = count;
    this.fault = () => {
      left -= 1;
      return left >= 0 ? fault : { kind: "pass" };
    };
  }

  async transact<Outcome>(
    keys: readonly RecordKey[],
    decide: Decide<Outcome>,
    options: CallOptions,
  ): Promise<Outcome> {
    const fault = this.fault({ keys, serial: this.calls });
    this.calls += 1;
    const send = (): Promise<Outcome> => this.#send(keys, decide, options);
    switch (fault.kind) {
      case "pass":
        return send();
      case "fail":
        throw this.#unavailable("none", false);
      case "drop":
        throw this.#unavailable("none", true);
      case "unknown-lost":
        throw this.#unavailable("unknown", true);
      case "unknown-applied":
        await send();
        throw this.#unavailable("unknown", true);
      case "delay":
        await this.#after(fault.ms);
        return send();
      case "late-answer": {
        const outcome = await send();
        await this.#after(fault.ms);
        return outcome;
      }
      case "late-unknown":
        void this.#after(fault.ms).then(() => this.#send(keys, decide, {}).catch(() => undefined));
        throw this.#unavailable("unknown", true);
      case "late-packet": {
        const packet = await this.#prepare(keys, decide, options);
        void this.#after(fault.ms).then(() => this.#arrive(packet));
        throw this.#unavailable("unknown", true);
      }
      case "twice": {
        const packet = await this.#prepare(keys, decide, options);
        void this.#after(fault.ms).then(() => this.#arrive(packet));
        return send();
      }
      case "hang":
        await this.#after((options.deadlineMs ?? Infinity) - this.#clock.monotonicMs());
        throw this.#unavailable("unknown", true);
    }
  }

  async scan(prefix: RecordKey, page: PageRequest, options: CallOptions): Promise<Page> {
    const found = await this.#inner.scan(prefix, page, this.#innerBounds(options));
    return { ...found, now: found.now + this.#store.stepMs };
  }

  async *watch(
    prefix: RecordKey,
    options: { readonly signal: AbortSignal },
  ): AsyncGenerator<KeyHint> {
    this.listings += 1;
    for await (const hint of this.#inner.watch(prefix, options)) {
      if (!this.dropsHints) yield hint;
    }
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async #send<Outcome>(
    keys: readonly RecordKey[],
    decide: Decide<Outcome>,
    options: CallOptions,
  ): Promise<Outcome> {
    let last: readonly Write[] = [];
    const watched = (snapshot: Snapshot): Decision<Outcome> => {
      this.decisions += 1;
      const decision = decide(this.#stepped(snapshot));
      last = isNeeds(decision) ? [] : decision.writes;
      return this.#unstepped(decision);
    };
    const outcome = await this.#inner.transact(keys, watched, this.#innerBounds(options));
    this.#noteCommit(last);
    return outcome;
  }

  #noteCommit(writes: readonly Write[]): void {
    if (writes.length === 0) return;
    this.commits.push({ writes });
    const { revisions } = this.#store;
    for (const { key } of writes) {
      const stored = encodeKey(key);
      revisions.set(stored, (revisions.get(stored) ?? 0) + 1);
    }
  }

  /** The snapshot as the store's own clock shows it. */
  #stepped(snapshot: Snapshot): Snapshot {
    const { stepMs } = this.#store;
    if (stepMs === 0) return snapshot;
    return {
      now: snapshot.now + stepMs,
      has: (key) => snapshot.has(key),
      get: (key) => snapshot.get(key),
    };
  }

  #unstepped<Outcome>(decision: Decision<Outcome>): Decision<Outcome> {
    const { stepMs } = this.#store;
    if (stepMs === 0 || isNeeds(decision) || decision.validUntil === undefined) return decision;
    return { ...decision, validUntil: decision.validUntil - stepMs };
  }

  /** The engine runs by its own clock, which may show another time than the client's. */
  #innerBounds(options: CallOptions): CallOptions {
    const { deadlineMs, signal } = options;
    if (deadlineMs === undefined) return options;
    const aheadMs = this.#store.clock.monotonicMs() - this.#clock.monotonicMs();
    return { deadlineMs: deadlineMs + aheadMs, signal };
  }

  /** Decides now, and stores nothing. */
  async #prepare<Outcome>(
    keys: readonly RecordKey[],
    decide: Decide<Outcome>,
    options: CallOptions,
  ): Promise<Packet> {
    const read = [...keys];
    const ask = (snapshot: Snapshot): Decision<Omit<Packet, "reads" | "keys">> => {
      const decision = this.#unstepped(decide(this.#stepped(snapshot)));
      if (isNeeds(decision)) read.push(...decision.needs);
      if (isNeeds(decision)) return decision;
      const { writes, validUntil } = decision;
      return { writes: [], outcome: { writes, validUntil } };
    };
    const decided = await this.#inner.transact(keys, ask, this.#innerBounds(options));
    const { revisions } = this.#store;
    const reads = new Map(read.map((key) => [encodeKey(key), revisions.get(encodeKey(key)) ?? 0]));
    return { ...decided, reads, keys: read };
  }

  /** The commit arrives: the engine compares what it read, and its own clock with `validUntil`. */
  async #arrive({ writes, validUntil, reads, keys }: Packet): Promise<void> {
    const { revisions } = this.#store;
    let left = arrivalsMax;
    const commit = (): Decision<boolean> => {
      left -= 1;
      const isSame = [...reads].every(([key, revision]) => (revisions.get(key) ?? 0) === revision);
      if (!isSame || left < 0) return { writes: [], outcome: false };
      return { writes, outcome: true, ...(validUntil === undefined ? {} : { validUntil }) };
    };
    const isStored = await this.#inner.transact(keys, commit, {});
    if (isStored) this.#noteCommit(writes);
    this.arrivals.push(isStored ? "committed" : "refused");
  }

  #after(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.timer(ms, resolve);
    });
  }

  #unavailable(outcome: "none" | "unknown", isTransient: boolean): EngineUnavailableError {
    const { engine } = this.capabilities;
    return new EngineUnavailableError(engine, "a planted fault", { outcome, isTransient });
  }
}
