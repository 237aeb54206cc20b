import type { Duration } from "../core/duration.ts";
import type { Snapshot } from "../core/decision.ts";
import type { FenceEntry } from "../core/fence/entry.ts";
import { orderedNumber } from "../core/key.ts";
import type { GrantFacts } from "../core/lock/facts.ts";
import type { Mode } from "../core/lock/record.ts";
import { decideRelease, type ReleaseCommand } from "../core/lock/release.ts";
import type { LostResult } from "../core/lock/renew.ts";
import type { Part } from "../core/lock/scope.ts";
import type { DurationMs, EpochMs, MonotonicMs } from "../core/scalars.ts";
import { EngineUnavailableError, type LeaseLostError } from "../errors.ts";
import type { Guard } from "../fence/guard.ts";
import { checkKnown } from "./argument-checks.ts";
import { LeaseBelief } from "./lease-belief.ts";
import { LeaseEntries } from "./lease-entries.ts";
import type { LeaseHost, RenewedLease } from "./lease-host.ts";
import { LeaseRenewals } from "./lease-renewals.ts";
import { heldSince, release, type LeaseFacts } from "./lease-state.ts";
import { findEnd, type Loss } from "./loss.ts";
import { ModeChanges } from "./mode-changes.ts";
import type { Lease, LeaseState, PortableLease } from "./lease-api.ts";
import type { UpgradeOptions } from "./request-api.ts";

export interface LeaseTerms {
  /** The family of records that the names belong to; locks unless said otherwise. */
  readonly part?: Part;
  readonly isRenewed: boolean;
  readonly maxHoldMs: DurationMs | null;
  /** Where the marks of the lease are raised before it is handed out (L71). */
  readonly guard?: Guard | undefined;
}

/**
 * The lease as its holder sees it: {@link LeaseFacts} over the engine, the clock and the batched
 * renewals of the space.
 */
export class LeaseHandle implements Lease, RenewedLease {
  readonly name: string;
  readonly leaseId: string;
  readonly owner: string;
  readonly grantedAt: EpochMs;
  readonly kind: GrantFacts["kind"];
  readonly isRenewed: boolean;
  readonly guard: Guard | undefined;
  /** Monotonic instant after which the lease is not renewed any more; `Infinity` without limit. */
  readonly maxHoldAtMs: MonotonicMs;
  readonly #host: LeaseHost;
  readonly entries: LeaseEntries;
  #modes: ModeChanges | undefined;
  readonly #belief: LeaseBelief;
  readonly #renewals: LeaseRenewals;
  #releasing: Promise<boolean> | undefined;
  /** A release has failed and may be stored all the same; the next one finds out (6.6). */
  #isReleaseUnknown = false;

  constructor(host: LeaseHost, grant: GrantFacts, sentAtMs: MonotonicMs, terms: LeaseTerms) {
    const { scope, semaphoreScope } = host.context;
    this.#host = host;
    this.entries = new LeaseEntries(
      terms.part === "semaphore" ? semaphoreScope : scope,
      grant.entries,
    );
    this.name = this.entries.first.name;
    this.leaseId = grant.id;
    this.owner = grant.owner;
    this.kind = grant.kind;
    this.grantedAt = grant.grantedAt;
    this.isRenewed = terms.isRenewed;
    this.guard = terms.guard;
    this.maxHoldAtMs = terms.maxHoldMs === null ? Infinity : sentAtMs + terms.maxHoldMs;
    const facts = heldSince(sentAtMs, grant.leaseMs, scope.clockErrorMs);
    this.#belief = new LeaseBelief(host, this, facts);
    this.#renewals = new LeaseRenewals(host, this, this.#belief, grant.expiresAt);
    host.keep(this);
  }

  get namespace(): string {
    return this.entries.scope.namespace;
  }

  get names(): readonly string[] {
    return this.entries.names;
  }

  get mode(): Mode {
    return this.entries.first.mode;
  }

  get token(): number {
    return this.entries.first.token;
  }

  get slots(): readonly number[] {
    return this.entries.first.slots ?? [];
  }

  tokenOf(name: string): number {
    return this.entries.of(name).token;
  }

  get leaseMs(): number {
    return this.#belief.facts.leaseMs;
  }

  get expiresAt(): EpochMs {
    return this.#renewals.expiresAt;
  }

  get fence(): string {
    return orderedNumber(this.token);
  }

  get fences(): readonly FenceEntry[] {
    return this.entries.fences;
  }

  get facts(): LeaseFacts {
    return this.#belief.facts;
  }

  get state(): LeaseState {
    return this.#belief.state;
  }

  get signal(): AbortSignal {
    return this.#belief.signal;
  }

  remainingMs(): number {
    return this.#belief.remainingMs();
  }

  assertHeld(): void {
    this.#belief.assertHeld();
  }

  async renew(lease?: Duration): Promise<void> {
    await this.#renewals.change("set", lease);
  }

  async extend(lease?: Duration): Promise<void> {
    await this.#renewals.change("extend", lease);
  }

  keep(): Promise<void> {
    return this.#renewals.keep();
  }

  suspend(gapMs: DurationMs): void {
    this.#belief.suspend(gapMs);
  }

  closeWithSpace(): void {
    this.#belief.closeWithSpace();
  }

  lose(loss: Loss): void {
    this.#belief.lose(loss);
  }

  get #modeChanges(): ModeChanges {
    return (this.#modes ??= new ModeChanges(this.#host, this));
  }

  async upgrade(options: UpgradeOptions = {}): Promise<void> {
    await this.#modeChanges.upgrade(options);
  }

  async tryUpgrade(options: { readonly name?: string | undefined } = {}): Promise<boolean> {
    return this.#modeChanges.tryUpgrade(options);
  }

  async downgrade(options: { readonly name?: string | undefined } = {}): Promise<void> {
    await this.#modeChanges.downgrade(options);
  }

  async transfer(options: { readonly lease?: Duration | undefined } = {}): Promise<PortableLease> {
    checkKnown("options", options, ["lease"], "transfer");
    await this.#renewals.change("set", options.lease);
    const { namespace, leaseId, leaseMs, entries } = this;
    // From here on the lease is another's: nothing is freed by this handle.
    this.#belief.facts = release(this.#belief.facts);
    this.#renewals.isEnded = true;
    this.#belief.stop();
    return entries.portable({ namespace, leaseId, leaseMs });
  }

  /** The number of a change that leaves the end of the lease as it is (L129). */
  takeChange(): number {
    const { facts } = this.#belief;
    const change = facts.nextChange;
    this.#belief.facts = { ...facts, nextChange: change + 1 };
    return change;
  }

  /** Throws unless the lease may still be changed. */
  assertNotOver(): void {
    this.#belief.assertNotOver();
  }

  lossError(): LeaseLostError {
    return this.#belief.lostError();
  }

  lostAs(result: LostResult): Promise<LeaseLostError> {
    return this.#renewals.lostAs(result);
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
    this.#belief.observe();
    const known = this.#belief.loss;
    try {
      const wasFreed = await this.release();
      if (wasFreed || known !== undefined) return known;
      return await findEnd(this.#host, this.name, this.token);
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
    const { namespace, name, names, mode, token, fence, fences } = this;
    const { owner, leaseMs, expiresAt, grantedAt, state } = this;
    const place = { namespace, name, names, mode, token, fence, fences };
    return { ...place, owner, leaseMs, expiresAt, grantedAt, state };
  }

  async #release(): Promise<boolean> {
    this.#belief.observe();
    if (this.#renewals.isEnded) return false;
    const { calls, context } = this.#host;
    const wasLost = this.#belief.facts.phase === "lost";
    this.#belief.facts = release(this.#belief.facts);
    this.#belief.stop();
    const how = wasLost ? "lost" : "released";
    const { scope, keys } = this.entries;
    const also = this.entries.also.map(({ name }) => name);
    const command: ReleaseCommand = { scope, name: this.name, also, id: this.leaseId, how };
    const mayBeStored = this.#isReleaseUnknown;
    const decide = (snapshot: Snapshot, isRepeat: boolean): ReturnType<typeof decideRelease> =>
      decideRelease(snapshot, { ...command, isRepeat: mayBeStored || isRepeat });
    const deadlineMs = calls.deadlineMs();
    const { outcome } = await calls
      .untilAnswered(keys, decide, { deadlineMs })
      .catch((error: unknown) => {
        const isUnknown = error instanceof EngineUnavailableError && error.outcome === "unknown";
        this.#isReleaseUnknown ||= isUnknown;
        throw error;
      });
    this.#renewals.isEnded = true;
    if (outcome.result) {
      context.events.emit("released", { name: this.name, token: this.token });
    }
    return outcome.result;
  }
}
