import { isNeeds } from "../core/decision.ts";
import { decideForce } from "../core/lock/force.ts";
import { lockKey } from "../core/lock/keys.ts";
import type { LockScope } from "../core/lock/scope.ts";
import { checkName, checkNote } from "../core/name.ts";
import { checkFlag, checkInteger, checkKnown, checkSignal, orDefault } from "./argument-checks.ts";
import type { EngineCalls } from "./engine-calls.ts";
import type { SweepCounts } from "./space-api.ts";
import type { ForceOptions, ForceResult } from "./views-api.ts";
import type { SpaceContext } from "./space-context.ts";
import type { Sweeper } from "./sweeper.ts";

const most = Number.MAX_SAFE_INTEGER;

/** What an operator may do: end grants by force, sweep, raise the floor. */
export class LockAdmin {
  readonly #context: SpaceContext;
  readonly #calls: EngineCalls;
  readonly #sweeper: Sweeper;

  constructor(context: SpaceContext, calls: EngineCalls, sweeper: Sweeper) {
    this.#context = context;
    this.#calls = calls;
    this.#sweeper = sweeper;
  }

  async forceRelease(
    name: string,
    options: ForceOptions,
    scope: LockScope = this.#context.scope,
  ): Promise<ForceResult> {
    const { lifetime } = this.#context;
    checkName("name", name);
    checkKnown("options", options, ["reason", "token", "noDelay"], "forceRelease");
    const reason = checkNote("reason", options.reason, 1);
    const isWithoutDelay = checkFlag("noDelay", options.noDelay);
    const bounds = { least: 1, most };
    const token = options.token === undefined ? null : checkInteger("token", options.token, bounds);
    lifetime.assertWritable("forceRelease");
    const command = { scope, name, token, reason, isWithoutDelay };
    let ended: ForceResult["ended"] = [];
    const { outcome } = await this.#calls.untilAnswered(
      [lockKey(scope.namespace, name, scope.part)],
      (snapshot, isRepeat) => {
        // What the last attempt was about to end may have been ended by it (6.6).
        const decision = decideForce(snapshot, { ...command, earlier: isRepeat ? ended : [] });
        if (!isNeeds(decision)) ended = decision.outcome.result.ended;
        return decision;
      },
      { deadlineMs: this.#calls.deadlineMs() },
    );
    return outcome.result;
  }

  async sweep(options: {
    readonly budget?: number;
    readonly signal?: AbortSignal;
  }): Promise<SweepCounts> {
    checkKnown("options", options, ["budget", "signal"], "sweep");
    const budget = checkInteger("budget", orDefault(options.budget, most), { least: 1, most });
    const signal = checkSignal(options.signal);
    this.#context.lifetime.assertWritable("sweep");
    return this.#sweeper.sweep(budget, signal);
  }

  async raiseFloor(options: { readonly to: number; readonly reason: string }): Promise<number> {
    checkKnown("options", options, ["to", "reason"], "raiseFloor");
    const to = checkInteger("to", options.to, { least: 0, most });
    const reason = checkNote("reason", options.reason, 1);
    this.#context.lifetime.assertWritable("raiseFloor");
    return this.#sweeper.raiseFloor(to, reason);
  }
}
