import type { Duration } from "../core/duration.ts";
import type { Snapshot } from "../core/decision.ts";
import type { FenceEntry } from "../core/fence/entry.ts";
import type { GrantFacts } from "../core/lock/draft.ts";
import { lockKey } from "../core/lock/keys.ts";
import type { Mode } from "../core/lock/record.ts";
import { decideRelease, type ReleaseCommand } from "../core/lock/release.ts";
import { decideRenew, type RenewCommand, type RenewResult } from "../core/lock/renew.ts";
import { orderedNumber } from "../core/key.ts";
import type { DurationMs, EpochMs, MonotonicMs } from "../core/scalars.ts";
import { EngineUnavailableError, LeaseLostError, LeaseUnverifiedError } from "../errors.ts";
import type { QueuedTimer } from "../time/timer-queue.ts";
import {
  changeCommitted,
  changeFailed,
  changeSent,
  effectiveDeadline,
  heldSince,
  isOver,
  lose,
  observe,
  release,
  renewalTimeoutMs,
  suspended,
  type LeaseFacts,
} from "./lease-state.ts";
import { withOutcome } from "./engine-calls.ts";
import type { LeaseHost, RenewedLease } from "./lease-host.ts";
import { findEnd, lossOf, type Loss } from "./loss.ts";
import { parseLease } from "./request.ts";
import type { Lease, LeaseState } from "./space-api.ts";

export interface LeaseTerms {
  readonly name: string;
  readonly isRenewed: boolean;
  readonly maxHoldMs: DurationMs | null;
}

type Change = Pick<RenewCommand, "how" | "lengthMs">;

/**
 * The lease as its holder sees it: {@link LeaseFacts} over the engine, the clock and the batched
 * renewals of the space.
 */
export class LeaseHandle implements Lease, RenewedLease {
  readonly name: string;
  readonly mode: Mode;
  readonly token: number;
  readonly leaseId: string;
  readonly owner: string;
  readonly grantedAt: EpochMs;
  readonly kind: GrantFacts["kind"];
  readonly isRenewed: boolean;
  /** Monotonic instant after which the lease is not renewed any more; `Infinity` without limit. */
  readonly maxHoldAtMs: MonotonicMs;
  readonly #host: LeaseHost;
  #facts: LeaseFacts;
  #expiresAt: EpochMs;
  #timer: QueuedTimer | undefined;
  #abort: AbortController | undefined;
  #loss: Loss | undefined;
  #changes: Promise<unknown> | undefined;
  #releasing: Promise<boolean> | undefined;
  /** The engine is known to hold nothing for this lease id any more. */
  #isEnded = false;
  /** A release has failed and may be stored all the same; the next one finds out (6.6). */
  #isReleaseUnknown = false;

  constructor(host: LeaseHost, grant: GrantFacts, sentAtMs: MonotonicMs, terms: LeaseTerms) {
    const { clockErrorMs } = host.context.scope;
    this.#host = host;
    this.name = terms.name;
    this.mode = grant.mode;
    this.token = grant.token;
    this.leaseId = grant.id;
    this.owner = grant.owner;
    this.kind = grant.kind;
    this.grantedAt = grant.grantedAt;
    this.isRenewed = terms.isRenewed;
    this.maxHoldAtMs = terms.maxHoldMs === null ? Infinity : sentAtMs + terms.maxHoldMs;
    this.#expiresAt = grant.expiresAt;
    this.#facts = heldSince(sentAtMs, grant.leaseMs, clockErrorMs);
    this.#arm();
    host.keep(this);
  }

  get namespace(): string {
    return this.#host.context.scope.namespace;
  }

  get leaseMs(): number {
    return this.#facts.leaseMs;
  }

  get expiresAt(): EpochMs {
    return this.#expiresAt;
  }

  get fence(): string {
    return orderedNumber(this.token);
  }

  get fences(): readonly FenceEntry[] {
    const { name, mode, token } = this;
    return [{ name, mode, token }];
  }

  get facts(): LeaseFacts {
    return this.#facts;
  }

  get state(): LeaseState {
    this.#observe();
    return this.#facts.phase;
  }

  get signal(): AbortSignal {
    this.#observe();
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#facts.phase === "lost") this.#abort.abort(this.#lostError());
    }
    return this.#abort.signal;
  }

  remainingMs(): number {
    this.#observe();
    if (isOver(this.#facts)) return 0;
    return Math.max(0, effectiveDeadline(this.#facts) - this.#host.context.clock.monotonicMs());
  }

  assertHeld(): void {
    this.#observe();
    const { phase } = this.#facts;
    if (phase === "held") return;
    if (phase === "unverified") {
      const gapMs = this.#host.context.contact.suspendedMs();
      throw new LeaseUnverifiedError(this.name, this.token, gapMs);
    }
    throw this.#lostError();
  }

  async renew(lease?: Duration): Promise<void> {
    await this.#change("set", lease);
  }

  async extend(lease?: Duration): Promise<void> {
    await this.#change("extend", lease);
  }

  /**
   * One automatic renewal; never throws, and does nothing while another change is under way. A
   * lease that its holder renews is only asked about: its end stays.
   */
  async keep(): Promise<void> {
    // Another change under way renews as well; only a lease in doubt is asked about after it.
    await this.#changes?.catch(() => undefined);
    if (isOver(this.#facts) || this.#isFresh()) return;
    const deadlineMs =
      this.#host.context.clock.monotonicMs() + renewalTimeoutMs(this.#facts.leaseMs);
    const change: Change = this.isRenewed
      ? { how: "keep", lengthMs: null }
      : { how: "extend", lengthMs: 0 };
    try {
      await this.#serially(() => this.#send(change, deadlineMs, false));
    } catch (error) {
      // A loss is told by its own event.
      if (error instanceof LeaseLostError) return;
      this.#host.context.events.fail(error, `renewing ${JSON.stringify(this.name)}`);
    }
  }

  /** Whether a change that was just waited for has made a renewal needless. */
  #isFresh(): boolean {
    const { phase, renewedAtMs, leaseMs, failures } = this.#facts;
    if (phase !== "held" || failures > 0) return false;
    return this.#host.context.clock.monotonicMs() < renewedAtMs + leaseMs / 6;
  }

  release(): Promise<boolean> {
    this.#releasing ??= this.#release().finally(() => {
      this.#releasing = undefined;
    });
    return this.#releasing;
  }

  /**
   * Releases at the end of a body; never throws. Gives the loss when the lease was over before,
   * also one that nobody knew of yet, such as a forced end (L52).
   */
  async releaseAfterUse(): Promise<Loss | undefined> {
    this.#observe();
    const known = this.#facts.phase === "lost" ? this.#loss : undefined;
    try {
      const wasFreed = await this.release();
      if (wasFreed || known !== undefined) return known;
      return await findEnd(this.#host.context, this.name, this.token);
    } catch (error) {
      this.#host.context.events.fail(error, `releasing ${JSON.stringify(this.name)}`);
      return known;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch (error) {
      this.#host.context.events.fail(error, `releasing ${JSON.stringify(this.name)}`);
    }
  }

  toJSON(): Record<string, unknown> {
    const { namespace, name, mode, token, fence, fences } = this;
    const { owner, leaseMs, expiresAt, grantedAt, state } = this;
    const place = { namespace, name, mode, token, fence, fences };
    return { ...place, owner, leaseMs, expiresAt, grantedAt, state };
  }

  /** The host may have slept: nothing is vouched for until the engine answers (L60). */
  suspend(gapMs: DurationMs): void {
    if (this.#facts.phase !== "held") return;
    this.#facts = suspended(this.#facts);
    this.#host.context.events.emit("unverified", { name: this.name, token: this.token, gapMs });
  }

  closeWithSpace(): void {
    this.#loss ??= { reason: "closed" };
  }

  /** Ends the lease for its holder; final (I10). */
  lose(loss: Loss): void {
    if (isOver(this.#facts)) return;
    this.#loss = loss;
    this.#facts = lose(this.#facts, loss.reason);
    this.#stop();
    const { name, token } = this;
    this.#host.context.events.emit("lost", { name, token, reason: loss.reason });
    this.#abort?.abort(this.#lostError());
  }

  async #change(how: "set" | "extend", lease: Duration | undefined): Promise<void> {
    const { config, calls } = this.#host;
    const { kind } = this;
    const lengthMs = parseLease(config, "lease", lease, { kind, standardMs: this.leaseMs });
    this.#host.context.lifetime.assertOpen();
    this.#assertNotOver();
    const deadlineMs = calls.deadlineMs();
    await this.#serially(() => this.#send({ how, lengthMs }, deadlineMs, true));
    this.#assertNotOver();
  }

  /** Changes of one lease follow each other (L42). */
  async #serially(send: () => Promise<void>): Promise<void> {
    const before = this.#changes;
    const changing = (async () => {
      await before?.catch(() => undefined);
      await send();
    })();
    this.#changes = changing;
    try {
      await changing;
    } finally {
      if (this.#changes === changing) this.#changes = undefined;
    }
  }

  async #send(change: Change, deadlineMs: MonotonicMs, isRepeated: boolean): Promise<void> {
    const { calls, context } = this.#host;
    const { clock, scope } = context;
    const keys = [lockKey(scope.namespace, this.name)];
    let wasUnknown = false;
    // Bounded by the deadline: every repeat is a change of its own (L129).
    for (let attempt = 0; ; attempt += 1) {
      this.#assertNotOver();
      const command = this.#nextChange(change);
      try {
        // oxlint-disable-next-line no-await-in-loop -- bounded by the deadline
        const answered = await calls.once(keys, (snapshot) => decideRenew(snapshot, command), {
          deadlineMs,
        });
        // oxlint-disable-next-line no-await-in-loop -- the end of the attempt
        return await this.#renewed(answered.outcome.result, answered.outcome.now);
      } catch (error) {
        if (!(error instanceof EngineUnavailableError)) throw error;
        this.#facts = changeFailed(this.#facts, error.outcome);
        this.#arm();
        const pauseMs = calls.pauseMs(attempt);
        const isWorthwhile = isRepeated && (error.isTransient || error.outcome === "unknown");
        wasUnknown ||= error.outcome === "unknown";
        if (!isWorthwhile || clock.monotonicMs() + pauseMs >= deadlineMs) {
          throw withOutcome(error, wasUnknown);
        }
        // oxlint-disable-next-line no-await-in-loop -- the pause between two attempts
        await calls.pause(pauseMs, {});
      }
    }
  }

  #nextChange({ how, lengthMs }: Change): RenewCommand {
    const { scope, clock } = this.#host.context;
    const { clockErrorMs } = scope;
    const shortening = how === "set" && lengthMs !== null ? { lengthMs, clockErrorMs } : null;
    const change = this.#facts.nextChange;
    this.#facts = changeSent(this.#facts, clock.monotonicMs(), shortening);
    if (shortening !== null) this.#arm();
    const { name, leaseId: id, token } = this;
    return { scope, name, id, token, change, how, lengthMs };
  }

  async #renewed(result: RenewResult, now: EpochMs): Promise<void> {
    const { context } = this.#host;
    if (result.kind === "lost") {
      this.#isEnded = result.how !== "expired";
      if (result.isRewind) context.events.emit("rewind", { name: this.name, token: this.token });
      const loss = lossOf(result) ?? (await findEnd(context, this.name, this.token));
      this.lose(loss);
      throw this.#lostError();
    }
    this.#observe();
    const { clockErrorMs } = context.scope;
    const { expiresAt, leaseMs } = result;
    const remainingMs = expiresAt - now;
    this.#facts = changeCommitted(this.#facts, { remainingMs, leaseMs, clockErrorMs });
    if (isOver(this.#facts)) return;
    this.#expiresAt = expiresAt;
    this.#arm();
    this.#host.keep(this);
    if (context.events.has("renewed")) {
      context.events.emit("renewed", { name: this.name, token: this.token, expiresAt });
    }
  }

  async #release(): Promise<boolean> {
    this.#observe();
    if (this.#isEnded) return false;
    const { calls, context } = this.#host;
    const wasLost = this.#facts.phase === "lost";
    this.#facts = release(this.#facts);
    this.#stop();
    const { scope } = context;
    const how = wasLost ? "lost" : "released";
    const command: ReleaseCommand = { scope, name: this.name, id: this.leaseId, how };
    const mayBeStored = this.#isReleaseUnknown;
    const decide = (snapshot: Snapshot, isRepeat: boolean): ReturnType<typeof decideRelease> =>
      decideRelease(snapshot, { ...command, isRepeat: mayBeStored || isRepeat });
    const keys = [lockKey(scope.namespace, this.name)];
    const deadlineMs = calls.deadlineMs();
    const { outcome } = await calls
      .untilAnswered(keys, decide, { deadlineMs })
      .catch((error: unknown) => {
        const isUnknown = error instanceof EngineUnavailableError && error.outcome === "unknown";
        this.#isReleaseUnknown ||= isUnknown;
        throw error;
      });
    this.#isEnded = true;
    if (outcome.result) {
      context.events.emit("released", { name: this.name, token: this.token });
    }
    return outcome.result;
  }

  /** Compares the monotonic clock, and calendar with monotonic time, before anything is said. */
  #observe(): void {
    const { phase } = this.#facts;
    if (phase === "lost" || phase === "released") return;
    this.#host.checkSuspend();
    const nowMs = this.#host.context.clock.monotonicMs();
    if (nowMs < effectiveDeadline(this.#facts)) return;
    const lostFacts = observe(this.#facts, nowMs);
    const isMaxHold = nowMs >= this.maxHoldAtMs;
    this.lose({ reason: isMaxHold ? "max-hold" : (lostFacts.reason ?? "expired") });
  }

  #assertNotOver(): void {
    this.#observe();
    if (isOver(this.#facts)) throw this.#lostError();
  }

  #lostError(): LeaseLostError {
    const loss: Loss = this.#loss ?? { reason: "released" };
    return new LeaseLostError({ lock: this.name, token: this.token, ...loss });
  }

  /** Sets the timer of the local deadline; it wakes nobody who does not listen, and no process. */
  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (isOver(this.#facts)) return;
    const atMs = effectiveDeadline(this.#facts);
    this.#timer = this.#host.context.timers.schedule(atMs, () => this.#observe());
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#host.drop(this);
  }
}
