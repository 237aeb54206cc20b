import type { Engine } from "../../src/engine/contract.ts";
import { openSpace } from "../../src/lock/open-space.ts";
import type { Lease } from "../../src/lock/lease-api.ts";
import type { Space } from "../../src/lock/space-api.ts";
import type { FakeClock } from "../../src/time/fake-clock.ts";
import type { Chance } from "./chance.ts";
import type { Checker } from "./checker.ts";
import { SimNetwork, type FaultRates } from "./network.ts";
import { SimClock } from "./sim-clock.ts";

export interface SimParts {
  readonly world: FakeClock;
  readonly chance: Chance;
  readonly checker: Checker;
  readonly log: (text: string) => void;
  readonly engine: () => Engine;
}

const names = ["a", "b"];
const flows = 3;

/** One simulated process: a space, and a few flows that use its locks in all ways. */
export class SimProcess {
  isAlive = true;
  pending = 0;
  settled = 0;
  readonly #parts: SimParts;
  readonly #place: number;
  readonly #clock: SimClock;
  readonly #network: SimNetwork;
  readonly #waits: Map<number, string> = new Map();
  #space: Space | undefined;
  #isStopping = false;

  constructor(parts: SimParts, place: number, rates: FaultRates) {
    const { world, chance, checker } = parts;
    this.#parts = parts;
    this.#place = place;
    // Drift of up to 400 ppm either way; the declared bound is 500.
    this.#clock = new SimClock(world, 1 + (chance.fraction() - 0.5) * 8e-4);
    const tale = { rare: (event: string) => checker.note(event) };
    const store = parts.engine();
    this.#network = new SimNetwork({ store, world, clock: this.#clock, chance, tale }, rates);
  }

  async start(): Promise<void> {
    const { chance, checker, world } = this.#parts;
    const host = { name: `host-${this.#place}`, pid: this.#place };
    const parts = { engine: this.#network, clock: this.#clock, entropy: chance, host };
    this.#network.isCut = false;
    const calm = this.#network.rates;
    this.#network.rates = { ...calm, lose: 0, loseReply: 0, double: 0 };
    const space = await openSpace(parts, {
      lease: 1_000,
      presenceLease: 3_000,
      confirmWindow: 1_000,
      callTimeout: 1_000,
      lookPeriod: 300,
      sweep: 2_000,
      retention: 1_000,
      queueLimit: 20,
    });
    this.#network.rates = calm;
    this.#space = space;
    for (const event of ["ticketLost", "lost", "withdrawn", "reclaimed", "rewind"] as const) {
      space.on(event, () => checker.note(`told ${event}`));
    }
    for (let flow = 0; flow < flows; flow += 1) {
      world.timer(chance.below(100), () => void this.#flow(space, flow));
    }
  }

  describe(): string {
    return `process ${this.#place} still waits: ${[...this.#waits.values()].join(", ")}`;
  }

  suffer(mishap: "pause" | "cut" | "wall" | "die"): void {
    const { world, chance } = this.#parts;
    const lastsMs = 100 + chance.below(3_000);
    if (mishap === "pause") {
      this.#clock.pause();
      world.timer(lastsMs, () => this.#clock.resume());
    } else if (mishap === "cut") {
      this.#network.isCut = true;
      world.timer(lastsMs, () => {
        this.#network.isCut = !this.isAlive;
      });
    } else if (mishap === "wall") {
      this.#clock.shiftWall(chance.pick([-3_600_000, -5_000, 5_000, 3_600_000]));
    } else {
      this.isAlive = false;
      this.#network.isCut = true;
      this.#clock.die();
    }
  }

  /** Ends all faults, and asks the flows to finish. */
  heal(rates: FaultRates): void {
    this.#isStopping = true;
    if (!this.isAlive) return;
    this.#clock.resume();
    this.#network.isCut = false;
    this.#network.rates = rates;
  }

  async stop(): Promise<void> {
    if (this.isAlive) await this.#space?.close({ grace: 2_000 });
  }

  async #flow(space: Space, flow: number): Promise<void> {
    const { chance } = this.#parts;
    while (!this.#isStopping && this.isAlive) {
      await this.#call(flow, () => this.#act(space));
      await this.#sleep(chance.below(60));
    }
  }

  /** One call, which must settle; errors with a code are ordinary outcomes. */
  async #call(flow: number, act: () => Promise<string>): Promise<void> {
    this.pending += 1;
    this.#waits.set(flow, "a call");
    try {
      this.#parts.log(`${this.#place}/${flow} ${await act()}`);
    } catch (error) {
      const { code } = error as { readonly code?: string };
      if (code === undefined) this.#parts.checker.violations.push(`I18: ${String(error)}`);
      this.#parts.log(`${this.#place}/${flow} ${code}`);
    } finally {
      this.pending -= 1;
      this.settled += 1;
      this.#waits.delete(flow);
    }
  }

  async #act(space: Space): Promise<string> {
    const { chance } = this.#parts;
    const name = chance.pick(names);
    const mode = chance.happens(0.3) ? "shared" : "exclusive";
    const choice = chance.below(20);
    if (choice < 11) {
      const wait = chance.pick([50, 400, 2_000]);
      const signal = chance.happens(0.2) ? this.#abortAfter(chance.below(600)) : undefined;
      const lease = await space.acquire(name, { mode, wait, signal, lease: 600 });
      return this.#hold(lease, name);
    }
    if (choice < 15) {
      const lease = await space.tryAcquire(name, { mode, lease: 400, renew: "manual" });
      return lease === null ? "refused" : this.#hold(lease, name);
    }
    if (choice < 17) return `claimed ${await space.tryClaim(name, "owner", { lease: 500 })}`;
    if (choice < 18) {
      const lease = await space.resume(name, "owner");
      if (lease === null) return "nothing to resume";
      return this.#hold(lease, name);
    }
    if (choice < 19) return `released ${await space.releaseClaim(name, "owner")}`;
    const { ended } = await space.forceRelease(name, { reason: "a drill" });
    return `forced ${ended.length}`;
  }

  async #hold(lease: Lease, name: string): Promise<string> {
    const { chance, checker } = this.#parts;
    checker.believe({ lease, name, isRunning: () => this.isAlive && !this.#clock.isPaused });
    await this.#sleep(chance.below(900));
    if (chance.happens(0.2)) await lease.renew(300 + chance.below(600));
    if (chance.happens(0.1)) return `left ${lease.token}`;
    return `${await lease.release()} ${lease.token}`;
  }

  #abortAfter(ms: number): AbortSignal {
    const controller = new AbortController();
    this.#clock.timer(ms, () => controller.abort(new Error("gives up")));
    return controller.signal;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resume) => {
      this.#clock.timer(ms, resume);
    });
  }
}
