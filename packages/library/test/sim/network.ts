import type { Decide } from "../../src/core/decision.ts";
import type { RecordKey } from "../../src/core/key.ts";
import type {
  CallOptions,
  Capabilities,
  Engine,
  KeyHint,
  Page,
  PageRequest,
} from "../../src/engine/contract.ts";
import { EngineUnavailableError } from "../../src/errors.ts";
import type { FakeClock } from "../../src/time/fake-clock.ts";
import type { Chance } from "./chance.ts";
import type { SimClock } from "./sim-clock.ts";

/** How often the network and the store misbehave; all zero in the liveness phase. */
export interface FaultRates {
  readonly lose: number;
  readonly loseReply: number;
  readonly double: number;
  readonly dropHint: number;
  readonly delayMsMax: number;
}

export const noFaults: FaultRates = Object.freeze({
  lose: 0,
  loseReply: 0,
  double: 0,
  dropHint: 0,
  delayMsMax: 2,
});

/** What the checker is told of a run beside the records. */
export interface NetworkTale {
  rare(event: string): void;
}

/**
 * The connection of one simulated process to the store: every call is delayed, and may be lost,
 * lose its reply, or arrive a second time much later, when its caller has long given up.
 */
export class SimNetwork implements Engine {
  readonly capabilities: Capabilities;
  rates: FaultRates;
  /** Nothing comes through in either direction. */
  isCut = false;
  readonly #store: Engine;
  readonly #world: FakeClock;
  readonly #clock: SimClock;
  readonly #chance: Chance;
  readonly #tale: NetworkTale;

  constructor(
    parts: { store: Engine; world: FakeClock; clock: SimClock; chance: Chance; tale: NetworkTale },
    rates: FaultRates,
  ) {
    this.#store = parts.store;
    this.#world = parts.world;
    this.#clock = parts.clock;
    this.#chance = parts.chance;
    this.#tale = parts.tale;
    this.capabilities = parts.store.capabilities;
    this.rates = rates;
  }

  transact<Outcome>(
    keys: readonly RecordKey[],
    decide: Decide<Outcome>,
    options: CallOptions,
  ): Promise<Outcome> {
    const { signal, deadlineMs = this.#clock.monotonicMs() + 5_000 } = options;
    signal?.throwIfAborted();
    return new Promise<Outcome>((resolve, reject) => {
      const settle = (act: () => void): void => this.#clock.run(act);
      const onAbort = (): void => settle(() => reject(signal?.reason));
      signal?.addEventListener("abort", onAbort, { once: true });
      const leftMs = Math.max(0, deadlineMs - this.#clock.monotonicMs());
      const late = this.#world.timer(leftMs, () => settle(() => reject(this.#unknown())));
      const done = (act: () => void): void => {
        late.cancel();
        signal?.removeEventListener("abort", onAbort);
        settle(act);
      };
      this.#deliver(keys, decide, {
        resolve: (value) => done(() => resolve(value)),
        reject: (error) => done(() => reject(error)),
      });
    });
  }

  #deliver<Outcome>(
    keys: readonly RecordKey[],
    decide: Decide<Outcome>,
    reply: { resolve(value: Outcome): void; reject(error: unknown): void },
  ): void {
    const { lose, loseReply, double } = this.rates;
    if (this.isCut || this.#chance.happens(lose))
      return this.#later(() => reply.reject(this.#unknown()), 20);
    if (this.#chance.happens(double)) {
      this.#tale.rare("doubled");
      this.#later(() => void this.#store.transact(keys, decide, {}).catch(() => undefined), 3_000);
    }
    this.#later(() => {
      if (this.isCut) return reply.reject(this.#unknown());
      this.#store.transact(keys, decide, {}).then(
        (outcome) => {
          const isLost = this.isCut || this.#chance.happens(loseReply);
          if (isLost) this.#tale.rare("unknown-applied");
          this.#later(() => (isLost ? reply.reject(this.#unknown()) : reply.resolve(outcome)), 0);
        },
        (error: unknown) => reply.reject(error),
      );
    }, 0);
  }

  scan(prefix: RecordKey, page: PageRequest, options: CallOptions): Promise<Page> {
    if (this.isCut) return Promise.reject(this.#unknown());
    return this.#store.scan(prefix, page, options);
  }

  async *watch(
    prefix: RecordKey,
    options: { readonly signal: AbortSignal },
  ): AsyncGenerator<KeyHint> {
    for await (const hint of this.#store.watch(prefix, options)) {
      if (!this.isCut && !this.#chance.happens(this.rates.dropHint)) yield hint;
    }
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #later(act: () => void, extraMs: number): void {
    const { delayMsMax } = this.rates;
    this.#world.timer(this.#chance.below(delayMsMax + 1) + this.#chance.below(extraMs + 1), act);
  }

  #unknown(): EngineUnavailableError {
    return new EngineUnavailableError("memory", "the simulated network failed", {
      outcome: "unknown",
      isTransient: true,
    });
  }
}
