import type { DurationMs, EpochMs } from "../../core/scalars.ts";
import type {
  CommitDriver,
  CommitUnit,
  StoredRow,
  UnitResult,
} from "../../engine/commit-driver.ts";
import type { Capabilities } from "../../engine/contract.ts";
import type { KeyRange } from "../../engine/key-range.ts";
import { EngineUnavailableError } from "../../errors.ts";
import type { HostTime } from "../../time/host-time.ts";
import type { BellTower } from "./bell-tower.ts";
import type { CommitAnswer, HostLink, Opened } from "./host-protocol.ts";
import { SqliteFailureError } from "./sqlite-failure.ts";

export const capabilities: Capabilities = Object.freeze({
  engine: "sqlite",
  spansHosts: false,
  spansProcesses: true,
  durable: true,
  mayLoseAcknowledged: false,
  clockErrorMs: 0,
  clockMaySteps: false,
  keysPerCommitMax: 100_000,
  recordBytesMax: 16 * 2 ** 20,
  hints: true,
});

/** What a driver is made of. */
export interface DriverParts {
  readonly link: HostLink;
  readonly time: HostTime;
  readonly bells: BellTower;
}

/** The caller's side of a SQLite store: tells engine time, sends batches, hears and rings bells. */
export class SqliteDriver implements CommitDriver {
  readonly capabilities: Capabilities = capabilities;
  readonly #link: HostLink;
  readonly #time: HostTime;
  readonly #bells: BellTower;
  #opened: Opened = { generation: 0, originMs: 0 };

  constructor(parts: DriverParts) {
    this.#link = parts.link;
    this.#time = parts.time;
    this.#bells = parts.bells;
  }

  async open(patienceMs: DurationMs): Promise<void> {
    try {
      this.#opened = await this.#link.open(patienceMs);
    } catch (error) {
      throw toUnavailable(error);
    }
  }

  now(): EpochMs {
    return Math.floor(this.#opened.originMs + this.#time.monotonicMs());
  }

  commit(
    units: readonly CommitUnit[],
    patienceMs: DurationMs,
  ): readonly UnitResult[] | Promise<readonly UnitResult[]> {
    const { generation } = this.#opened;
    const bells = this.#bells.bellsOf(units);
    try {
      const answer = this.#link.commit({ generation, patienceMs, units, bells });
      if (!(answer instanceof Promise)) return this.#read(answer, units);
      return answer.then((come) => this.#read(come, units)).catch(rethrow);
    } catch (error) {
      throw toUnavailable(error);
    }
  }

  async scan(range: KeyRange, patienceMs: DurationMs): Promise<readonly StoredRow[]> {
    try {
      const { rows } = await this.#link.scan(range, patienceMs);
      return rows;
    } catch (error) {
      throw toUnavailable(error, "none");
    }
  }

  listen(prefix: string, notify: (key: string) => void): () => void {
    return this.#bells.listen(prefix, notify);
  }

  async close(): Promise<void> {
    this.#bells.close();
    await this.#link.close();
  }

  #read({ opened, results }: CommitAnswer, units: readonly CommitUnit[]): readonly UnitResult[] {
    this.#opened = opened;
    return results ?? units.map(() => []);
  }
}

function rethrow(error: unknown): never {
  throw toUnavailable(error);
}

/** `read`: nothing can have been stored, whatever became of the connection. */
function toUnavailable(error: unknown, read?: "none"): unknown {
  if (!(error instanceof SqliteFailureError)) return error;
  const { what, isTransient } = error.failure;
  const outcome = read ?? error.failure.outcome;
  return new EngineUnavailableError("sqlite", what, { outcome, isTransient, cause: error.cause });
}
