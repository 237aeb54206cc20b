import type { DurationMs } from "../../core/scalars.ts";
import type { KeyRange } from "../../engine/key-range.ts";
import type { Clock, Entropy } from "../../time/clock.ts";
import type {
  CommitAnswer,
  CommitRequest,
  HostLink,
  HostOptions,
  Opened,
  ScanAnswer,
} from "./host-protocol.ts";
import { SqliteFailureError } from "./sqlite-failure.ts";
import { SqliteHost } from "./sqlite-host.ts";
import type { HostPorts } from "./sqlite-host.ts";

/** How long the caller's own thread may be blocked by a busy store before it lets others run. */
export const callerBlockMs = 2;

/** The host on the caller's thread: for commands that do one thing. */
export class CallerLink implements HostLink {
  readonly #host: SqliteHost;
  readonly #clock: Clock;
  readonly #entropy: Entropy;

  constructor(options: HostOptions, ports: HostPorts & { readonly clock: Clock }) {
    this.#host = new SqliteHost(options, ports);
    this.#clock = ports.clock;
    this.#entropy = ports.entropy;
  }

  async open(patienceMs: DurationMs): Promise<Opened> {
    return this.#patiently(patienceMs, (leftMs) => this.#host.open(leftMs));
  }

  commit(request: CommitRequest): CommitAnswer | Promise<CommitAnswer> {
    const act = (patienceMs: DurationMs): CommitAnswer =>
      this.#host.commit({ ...request, patienceMs });
    return this.#patiently(request.patienceMs, (leftMs) => {
      const answer = act(leftMs);
      this.#host.maintain();
      return answer;
    });
  }

  async scan(range: KeyRange, patienceMs: DurationMs): Promise<ScanAnswer> {
    return this.#patiently(patienceMs, (leftMs) => this.#host.scan(range, leftMs));
  }

  async dataVersion(): Promise<number> {
    return this.#host.dataVersion();
  }

  async close(): Promise<void> {
    this.#host.close();
  }

  /** The first attempt at once; while the store is busy, further ones in turns of their own. */
  #patiently<Answer>(
    patienceMs: DurationMs,
    act: (leftMs: DurationMs) => Answer,
  ): Answer | Promise<Answer> {
    const untilMs = this.#clock.monotonicMs() + patienceMs;
    try {
      return act(patienceMs);
    } catch (error) {
      if (!this.#mayRetry(error, untilMs)) throw error;
      return this.#retryLater(untilMs, act);
    }
  }

  async #retryLater<Answer>(untilMs: number, act: (leftMs: DurationMs) => Answer): Promise<Answer> {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- bounded by `untilMs`
      await new Promise<void>((resume) => {
        this.#clock.timer(1 + 2 * this.#entropy.fraction(), resume).setReferenced(true);
      });
      try {
        return act(Math.max(0, untilMs - this.#clock.monotonicMs()));
      } catch (error) {
        if (!this.#mayRetry(error, untilMs)) throw error;
      }
    }
  }

  #mayRetry(error: unknown, untilMs: number): boolean {
    const isBusy = error instanceof SqliteFailureError && error.failure.isBusy;
    return isBusy && this.#clock.monotonicMs() < untilMs;
  }
}
