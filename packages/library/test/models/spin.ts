import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { mutated, type ModelMutant } from "./lease-mutants.ts";
import { runToEnd } from "./run-to-end.ts";

/** How far the model is explored, as its preprocessor names say. */
export interface ModelBounds {
  readonly ATTEMPTS: number;
  readonly FAULTS: number;
  readonly WRITES: number;
  readonly RENEWALS: number;
  readonly LEASE: number;
}

/** Bounds that are explored on every change: three that queue, and two that renew and write. */
export const quickBounds: Readonly<Record<ModelMutant["bounds"], ModelBounds>> = Object.freeze({
  lock: { ATTEMPTS: 3, FAULTS: 1, WRITES: 0, RENEWALS: 0, LEASE: 2 },
  resource: { ATTEMPTS: 2, FAULTS: 1, WRITES: 2, RENEWALS: 1, LEASE: 2 },
});

/** Bounds of the long run; each explores completely in some minutes. */
export const longBounds: readonly ModelBounds[] = Object.freeze([
  { ATTEMPTS: 3, FAULTS: 1, WRITES: 0, RENEWALS: 1, LEASE: 2 },
  { ATTEMPTS: 3, FAULTS: 1, WRITES: 2, RENEWALS: 1, LEASE: 2 },
  { ATTEMPTS: 3, FAULTS: 2, WRITES: 0, RENEWALS: 1, LEASE: 2 },
]);

/** Assertions, or one of the liveness formulas of the model under weak fairness. */
export type ModelProperty = "assertions" | (typeof livenessFormulas)[number];

/** One formula a client: clients are numbered by their first request, so all three are asked. */
export const livenessFormulas = ["settles0", "settles1", "settles2"] as const;

export interface SpinReport {
  readonly property: ModelProperty;
  readonly bounds: ModelBounds;
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  readonly seconds: number;
  /** Every reachable state was visited. */
  readonly isComplete: boolean;
  /** The invariant that is broken; `settles` when a call waits for ever; null for none. */
  readonly broken: string | null;
}

export const leaseModel: string = readFileSync(new URL("lease.pml", import.meta.url), "utf8");

/** What an assertion of the model speaks of, by the words that stand in no other. */
const assertions: readonly (readonly [RegExp, string])[] = [
  [/counter>minted/, "I1"],
  [/known\[/, "I2 I7"],
  [/\(i==j\)/, "I4"],
  [/hasEnded\[/, "I6"],
  [/isOver\[/, "I8"],
  [/>=until\[/, "I9"],
  [/isGone\[/, "I10"],
  [/write\[/, "I26"],
  [/\(mode\[/, "I5"],
];

/** Far above any depth met; a search that runs into it is reported as incomplete. */
const depthMax = 1_000_000;

/** A model that Spin and the C compiler have turned into a program. */
export class SpinModel implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "leasehold-spin-"));
  readonly #bounds: ModelBounds;

  private constructor(bounds: ModelBounds) {
    this.#bounds = bounds;
  }

  /**
   * Compiles a model. `level` is the compiler's: 0 is quick to compile, 2 quick to run.
   * Rejects when Spin or the compiler is missing or refuses the model.
   */
  static async compile(model: string, bounds: ModelBounds, level: 0 | 1 | 2): Promise<SpinModel> {
    const compiled = new SpinModel(bounds);
    writeFileSync(join(compiled.#folder, "lease.pml"), model);
    const defined = Object.entries(bounds).map(([name, value]) => `-D${name}=${value}`);
    await compiled.#run("spin", [...defined, "-a", "lease.pml"]);
    // NFAIR: two bits a process for fairness. COLLAPSE: states are stored by their parts.
    const words = [`-O${level}`, "-w", "-DNFAIR=3", ...(level === 2 ? ["-DCOLLAPSE"] : [])];
    await compiled.#run("gcc", [...words, "-o", "pan", "pan.c"]);
    return compiled;
  }

  /** Explores every state, or stops at the first error. */
  async verify(property: ModelProperty): Promise<SpinReport> {
    const startMs = performance.now();
    const search = property === "assertions" ? ["-noclaim"] : ["-a", "-f", "-N", property];
    const output = await this.#run("./pan", [...search, `-m${depthMax}`, "-w22"]);
    const seconds = (performance.now() - startMs) / 1_000;
    const [, depth = "0", errors = "0"] = /depth reached (\d+), errors: (\d+)/.exec(output) ?? [];
    const [, states = "0"] = /([\d.e+]+) states, stored/.exec(output) ?? [];
    const [, transitions = "0"] = /([\d.e+]+) transitions/.exec(output) ?? [];
    const isCut = /Search not completed|search depth too small|out of memory/.test(output);
    const broken = errors === "0" ? null : brokenIn(output);
    return {
      property,
      bounds: this.#bounds,
      states: Number(states),
      transitions: Number(transitions),
      depth: Number(depth),
      seconds: Math.round(seconds * 10) / 10,
      isComplete: !isCut && errors === "0" && Number(states) > 0,
      broken,
    };
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #run(command: string, words: readonly string[]): Promise<string> {
    return runToEnd(command, words, { cwd: this.#folder });
  }
}

/** Compiles and explores a mutant until it is found; its report says by what. */
export async function findMutant(mutant: ModelMutant): Promise<SpinReport> {
  const bounds = quickBounds[mutant.bounds];
  using model = await SpinModel.compile(mutated(leaseModel, mutant), bounds, 0);
  if (mutant.breaks !== "settles") return model.verify("assertions");
  for (const formula of livenessFormulas) {
    const report = await model.verify(formula);
    if (report.broken !== null || formula === livenessFormulas.at(-1)) return report;
  }
  throw new Error("there is no liveness formula");
}

function brokenIn(output: string): string {
  if (output.includes("acceptance cycle")) return "settles";
  const [, text = output.slice(0, 200)] = /assertion violated (.*) \(at depth/.exec(output) ?? [];
  return assertions.find(([words]) => words.test(text))?.[1] ?? text;
}
