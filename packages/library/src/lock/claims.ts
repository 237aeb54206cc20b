import { lockKey } from "../core/lock/keys.ts";
import { decideReleaseClaim } from "../core/lock/release.ts";
import { decideResume, type ResumeCommand } from "../core/lock/resume.ts";
import { isNeeds } from "../core/decision.ts";
import { checkName, checkOwner } from "../core/name.ts";
import { LockAbortedError, SpaceClosedError } from "../errors.ts";
import { checkFlag, checkKnown, checkSignal } from "./argument-checks.ts";
import type { Background } from "./background.ts";
import type { EngineCalls } from "./engine-calls.ts";
import { LeaseHandle, type LeaseTerms } from "./lease-handle.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import { parseMaxHold, parseRenew } from "./request.ts";
import type { Lease, ResumeOptions } from "./space-api.ts";

/** Taking claims up, in any process, and giving them back (L88 to L94). */
export class Claims {
  readonly #keeper: LeaseKeeper;
  readonly #calls: EngineCalls;
  readonly #background: Background;

  constructor(keeper: LeaseKeeper, background: Background) {
    this.#keeper = keeper;
    this.#calls = keeper.calls;
    this.#background = background;
  }

  async resume(name: string, owner: string, options: ResumeOptions): Promise<Lease | null> {
    const { scope, entropy, lifetime } = this.#keeper.context;
    checkName("name", name);
    checkOwner("owner", owner);
    checkKnown("options", options, ["ifUnresumed", "renew", "maxHold", "signal"], "resume");
    const ifUnresumed = checkFlag("ifUnresumed", options.ifUnresumed);
    const isRenewed = parseRenew(options.renew);
    const maxHoldMs = parseMaxHold(options.maxHold, 0);
    const signal = checkSignal(options.signal);
    lifetime.assertWritable("resume");
    if (signal?.aborted === true) throw new LockAbortedError(name, signal.reason);
    const command = { scope, name, owner, id: entropy.id(), ifUnresumed };
    return this.#background.hold(this.#resume(command, { isRenewed, maxHoldMs }));
  }

  async release(name: string, owner: string): Promise<boolean> {
    const { scope, lifetime } = this.#keeper.context;
    checkName("name", name);
    checkOwner("owner", owner);
    lifetime.assertWritable("releaseClaim");
    let freed: string | null = null;
    const { outcome } = await this.#calls.untilAnswered(
      [lockKey(scope.namespace, name)],
      (snapshot, isRepeat) => {
        // What the last attempt was about to free may have been freed by it (6.6).
        const earlier = isRepeat ? freed : null;
        const decision = decideReleaseClaim(snapshot, { scope, name, owner, earlier });
        if (!isNeeds(decision)) freed = decision.outcome.result;
        return decision;
      },
      { deadlineMs: this.#calls.deadlineMs() },
    );
    return outcome.result !== null;
  }

  /** A closing space waits for the call, and releases what was resumed meanwhile (L119). */
  async #resume(command: ResumeCommand, terms: LeaseTerms): Promise<Lease | null> {
    const { scope, name } = command;
    const keys = [lockKey(scope.namespace, name)];
    const deadlineMs = this.#calls.deadlineMs();
    // Bounded by the deadline: a null is no verdict while tickets are left to be settled (L131).
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- each turn goes on where the one before stopped
      const { outcome, sentAtMs } = await this.#calls.untilAnswered(
        keys,
        (snapshot) => decideResume(snapshot, command),
        { deadlineMs },
      );
      if (outcome.result === null && outcome.more) continue;
      if (outcome.result === null) return null;
      const lease = new LeaseHandle(this.#keeper, outcome.result, sentAtMs, terms);
      if (!this.#keeper.context.lifetime.isClosed) return lease;
      // oxlint-disable-next-line no-await-in-loop -- the end of the call
      await lease[Symbol.asyncDispose]();
      throw new SpaceClosedError();
    }
  }
}
