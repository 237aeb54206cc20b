import { decideAttach, type AttachCommand } from "../core/lock/attach.ts";
import { lockKey } from "../core/lock/keys.ts";
import { decideReleaseClaim } from "../core/lock/release.ts";
import { decideResume, type ResumeCommand } from "../core/lock/resume.ts";
import { isNeeds } from "../core/decision.ts";
import { checkName, checkOwner } from "../core/name.ts";
import { InvalidArgumentError, LockAbortedError } from "../errors.ts";
import { checkFlag, checkGuard, checkKnown, checkSignal } from "./argument-checks.ts";
import type { Background } from "./background.ts";
import type { EngineCalls } from "./engine-calls.ts";
import { handLease } from "./hand-lease.ts";
import { LeaseHandle, type LeaseTerms } from "./lease-handle.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import { parseMaxHold, parseRenew } from "./request.ts";
import type { AttachOptions, ResumeOptions } from "./request-api.ts";
import type { Lease, PortableLease } from "./lease-api.ts";

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
    checkKnown(
      "options",
      options,
      ["ifUnresumed", "renew", "maxHold", "fenceOn", "signal"],
      "resume",
    );
    const ifUnresumed = checkFlag("ifUnresumed", options.ifUnresumed);
    const isRenewed = parseRenew(options.renew);
    const maxHoldMs = parseMaxHold(options.maxHold, 0);
    const guard = checkGuard(options.fenceOn);
    const signal = checkSignal(options.signal);
    lifetime.assertWritable("resume");
    if (signal?.aborted === true) throw new LockAbortedError(name, signal.reason);
    const command = { scope, name, owner, id: entropy.id(), ifUnresumed };
    return this.#background.hold(this.#resume(command, { isRenewed, maxHoldMs, guard }));
  }

  /** Takes up a lease that another process has given away (L95). */
  async attach(portable: PortableLease, options: AttachOptions): Promise<Lease | null> {
    const { scope, entropy, lifetime } = this.#keeper.context;
    const { names, leaseId } = checkPortable(portable, scope.namespace);
    checkKnown("options", options, ["renew", "maxHold", "fenceOn", "signal"], "attach");
    const isRenewed = parseRenew(options.renew);
    const maxHoldMs = parseMaxHold(options.maxHold, 0);
    const guard = checkGuard(options.fenceOn);
    const signal = checkSignal(options.signal);
    lifetime.assertWritable("attach");
    if (signal?.aborted === true) throw new LockAbortedError(names[0] as string, signal.reason);
    const command = { scope, names, leaseId, id: entropy.id() };
    return this.#background.hold(this.#attach(command, { isRenewed, maxHoldMs, guard }));
  }

  async #attach(command: AttachCommand, terms: LeaseTerms): Promise<Lease | null> {
    const { scope, names } = command;
    const { outcome, sentAtMs } = await this.#calls.untilAnswered(
      names.map((name) => lockKey(scope.namespace, name)),
      (snapshot) => decideAttach(snapshot, command),
      { deadlineMs: this.#calls.deadlineMs() },
    );
    if (outcome.result === null) return null;
    return handLease(this.#keeper, { grant: outcome.result, sentAtMs }, terms, LeaseHandle);
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
      return handLease(this.#keeper, { grant: outcome.result, sentAtMs }, terms, LeaseHandle);
    }
  }
}

/** Checks a lease that comes from outside, as far as attaching it relies on it. */
function checkPortable(
  portable: unknown,
  namespace: string,
): { readonly names: readonly string[]; readonly leaseId: string } {
  if (typeof portable !== "object" || portable === null) {
    throw new InvalidArgumentError("portable", portable, "must be what transfer gave");
  }
  const given = portable as Readonly<Record<string, unknown>>;
  if (given["namespace"] !== namespace) {
    const rule = `must be of the namespace ${JSON.stringify(namespace)}`;
    throw new InvalidArgumentError("portable.namespace", given["namespace"], rule);
  }
  const { names, leaseId } = given;
  if (!Array.isArray(names) || names.length === 0) {
    throw new InvalidArgumentError("portable.names", names, "must be a list of names");
  }
  const checked = [...names].map((name: unknown) => checkName("portable.names", name));
  return { names: checked, leaseId: checkOwner("portable.leaseId", leaseId) };
}
