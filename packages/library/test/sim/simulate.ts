import type { Decide } from "../../src/core/decision.ts";
import type { RecordKey } from "../../src/core/key.ts";
import type { CallOptions, Engine } from "../../src/engine/contract.ts";
import { createMemoryStore, openMemory } from "../../src/engines/memory/index.ts";
import { FakeClock } from "../../src/time/fake-clock.ts";
import { Chance } from "./chance.ts";
import { Checker } from "./checker.ts";
import { SimProcess } from "./sim-process.ts";
import { noFaults, type FaultRates } from "./network.ts";

export interface RunReport {
  readonly seed: number;
  /** The same seed gives the same hash. */
  readonly hash: number;
  readonly violations: readonly string[];
  readonly commits: number;
  readonly grants: number;
  readonly settled: number;
  readonly rare: ReadonlyMap<string, number>;
}

export interface RunOptions {
  readonly processes?: number;
  readonly safetyMs?: number;
  /** Longest time that calls may take to settle once faults have ended. */
  readonly livenessMs?: number;
}

const rates: FaultRates = {
  lose: 0.05,
  loseReply: 0.08,
  double: 0.03,
  dropHint: 0.3,
  delayMsMax: 30,
};
/** Virtual time between two looks of the checker at what holders believe. */
const stepMs = 10;

/**
 * One run of the whole stack on a simulated clock, network and store.
 *
 * Safety: processes acquire, hold, renew, force and die under faults of every kind, and the checker
 * watches each commit and each belief. Liveness: faults end, the healthy processes go on, and every
 * call must settle.
 */
export async function simulate(seed: number, options: RunOptions = {}): Promise<RunReport> {
  const { processes = 3, safetyMs = 4_000, livenessMs = 20_000 } = options;
  const chance = new Chance(seed);
  const world = new FakeClock({ wallMs: 1_900_000_000_000 });
  const storeClock = new FakeClockView(world);
  const store = createMemoryStore({ clock: storeClock });
  const checker = new Checker();
  let hash = 2_166_136_261;
  const log = (text: string): void => {
    for (const unit of `${world.monotonicMs()} ${text}`) {
      hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 16_777_619) >>> 0;
    }
  };
  const engine = (): Engine => watched(openMemory(store), checker, log);
  const parts = { world, chance, checker, log, engine };
  const all = Array.from({ length: processes }, (_, i) => new SimProcess(parts, i, rates));
  await Promise.all([...all.map((each) => each.start()), world.advance(200)]);
  for (let passedMs = 0; passedMs < safetyMs; passedMs += stepMs) {
    if (chance.happens(0.02)) disturb(chance, all, checker);
    await world.advance(stepMs);
    checker.checkBeliefs();
  }
  for (const each of all) each.heal(noFaults);
  for (let passedMs = 0; passedMs < livenessMs && all.some(isBusy); passedMs += 10 * stepMs) {
    await world.advance(10 * stepMs);
    checker.checkBeliefs();
  }
  for (const each of all) if (isBusy(each)) checker.violations.push(`I18: ${each.describe()}`);
  const settled = all.reduce((sum, each) => sum + each.settled, 0);
  await Promise.all([...all.map((each) => each.stop()), world.advance(6_000)]);
  const { violations, commits, grants, rare } = checker;
  return { seed, hash, violations, commits, grants, settled, rare };
}

function isBusy(each: SimProcess): boolean {
  return each.isAlive && each.pending > 0;
}

/** One mishap: a pause, a death, a cut, a set calendar. */
function disturb(chance: Chance, all: readonly SimProcess[], checker: Checker): void {
  const victim = chance.pick(all);
  if (!victim.isAlive) return;
  const mishap = chance.pick(["pause", "pause", "cut", "cut", "wall", "die"] as const);
  // One death a run, so that enough others are left to notice it.
  if (mishap === "die" && !all.every((each) => each.isAlive)) return;
  checker.note(mishap);
  victim.suffer(mishap);
}

/** Tells the checker of every commit. */
function watched(inner: Engine, checker: Checker, log: (text: string) => void): Engine {
  return {
    capabilities: inner.capabilities,
    scan: (...given) => inner.scan(...given),
    watch: (...given) => inner.watch(...given),
    close: () => inner.close(),
    async transact<Outcome>(
      keys: readonly RecordKey[],
      decide: Decide<Outcome>,
      options: CallOptions,
    ): Promise<Outcome> {
      let tell: (() => void) | undefined;
      const outcome = await inner.transact<Outcome>(
        keys,
        (snapshot) => {
          const decision = decide(snapshot);
          if (!("writes" in decision)) return decision;
          const { now } = snapshot;
          const before = new Map(decision.writes.map(({ key }) => [key, snapshot.get(key)]));
          const seen = { now, has: () => true, get: (key: RecordKey) => before.get(key) };
          tell = () => checker.commit(now, seen, decision.writes);
          log(JSON.stringify(decision.writes));
          return decision;
        },
        options,
      );
      tell?.();
      return outcome;
    },
  };
}

/** The store's clock: engine time follows the world's. */
class FakeClockView extends FakeClock {
  readonly #world: FakeClock;

  constructor(world: FakeClock) {
    super();
    this.#world = world;
  }

  override wallMs(): number {
    return this.#world.wallMs();
  }

  override monotonicMs(): number {
    return this.#world.monotonicMs();
  }
}
