import type { Snapshot } from "../core/decision.ts";
import type { Duration } from "../core/duration.ts";
import type { GrantFacts } from "../core/lock/facts.ts";
import {
  decideRenew,
  type LostResult,
  type RenewCommand,
  type RenewResult,
} from "../core/lock/renew.ts";
import type { EpochMs, MonotonicMs } from "../core/scalars.ts";
import { EngineUnavailableError, LeaseLostError } from "../errors.ts";
import { withOutcome } from "./engine-calls.ts";
import type { BelievedLease, LeaseBelief } from "./lease-belief.ts";
import type { LeaseHost } from "./lease-host.ts";
import {
  changeCommitted,
  changeFailed,
  changeSent,
  isOver,
  renewalTimeoutMs,
} from "./lease-state.ts";
import { findEnd, lossOf } from "./loss.ts";
import { parseLease } from "./request.ts";

type Change = Pick<RenewCommand, "how" | "lengthMs">;

interface ChangedLease extends BelievedLease {
  readonly name: string;
  readonly leaseId: string;
  readonly kind: GrantFacts["kind"];
}

/** Moves the end of one lease: the automatic renewals, and those that its holder asks for. */
export class LeaseRenewals {
  readonly #host: LeaseHost;
  readonly #lease: ChangedLease;
  readonly #belief: LeaseBelief;
  /** End in engine time, as of the last change whose outcome is known. */
  expiresAt: EpochMs;
  /** The engine is known to hold nothing for this lease id any more. */
  isEnded = false;
  #changes: Promise<unknown> | undefined;

  constructor(host: LeaseHost, lease: ChangedLease, belief: LeaseBelief, expiresAt: EpochMs) {
    this.#host = host;
    this.#lease = lease;
    this.#belief = belief;
    this.expiresAt = expiresAt;
  }

  /**
   * One automatic renewal; never throws, and does nothing while another change is under way. A
   * lease that its holder renews is only asked about: its end stays.
   */
  async keep(): Promise<void> {
    // Another change under way renews as well; only a lease in doubt is asked about after it.
    await this.#changes?.catch(() => undefined);
    if (isOver(this.#belief.facts) || this.#isFresh()) return;
    const deadlineMs =
      this.#host.context.clock.monotonicMs() + renewalTimeoutMs(this.#belief.facts.leaseMs);
    const change: Change = this.#lease.isRenewed
      ? { how: "keep", lengthMs: null }
      : { how: "extend", lengthMs: 0 };
    try {
      await this.#serially(() => this.#send(change, deadlineMs, false));
    } catch (error) {
      // A loss is told by its own event.
      if (error instanceof LeaseLostError) return;
      this.#host.context.events.fail(error, `renewing ${JSON.stringify(this.#lease.name)}`);
    }
  }

  /** Whether a change that was just waited for has made a renewal needless. */
  #isFresh(): boolean {
    const { phase, renewedAtMs, leaseMs, failures } = this.#belief.facts;
    if (phase !== "held" || failures > 0) return false;
    return this.#host.context.clock.monotonicMs() < renewedAtMs + leaseMs / 6;
  }

  async change(how: "set" | "extend", lease: Duration | undefined): Promise<void> {
    const { config, calls } = this.#host;
    const { kind } = this.#lease;
    const lengthMs = parseLease(config, "lease", lease, {
      kind,
      standardMs: this.#belief.facts.leaseMs,
    });
    this.#host.context.lifetime.assertOpen();
    this.#belief.assertNotOver();
    const deadlineMs = calls.deadlineMs();
    await this.#serially(() => this.#send({ how, lengthMs }, deadlineMs, true));
    this.#belief.assertNotOver();
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
    const { clock } = context;
    let wasUnknown = false;
    // Bounded by the deadline: every repeat is a change of its own (L129).
    for (let attempt = 0; ; attempt += 1) {
      this.#belief.assertNotOver();
      const command = this.#nextChange(change);
      try {
        const decide = (snapshot: Snapshot) => decideRenew(snapshot, command);
        // oxlint-disable-next-line no-await-in-loop -- bounded by the deadline
        const answered = await calls.once(this.#lease.entries.keys, decide, { deadlineMs });
        // oxlint-disable-next-line no-await-in-loop -- the end of the attempt
        return await this.#renewed(answered.outcome.result, answered.outcome.now);
      } catch (error) {
        if (!(error instanceof EngineUnavailableError)) throw error;
        this.#belief.facts = changeFailed(this.#belief.facts, error.outcome);
        this.#belief.arm();
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
    const { clock } = this.#host.context;
    const { clockErrorMs } = this.#lease.entries.scope;
    const shortening = how === "set" && lengthMs !== null ? { lengthMs, clockErrorMs } : null;
    const change = this.#belief.facts.nextChange;
    this.#belief.facts = changeSent(this.#belief.facts, clock.monotonicMs(), shortening);
    if (shortening !== null) this.#belief.arm();
    const { scope, first, also } = this.#lease.entries;
    const { name, token } = first;
    const command = { scope, name, token, id: this.#lease.leaseId, change, how, lengthMs };
    return also.length === 0 ? command : { ...command, also };
  }

  async #renewed(result: RenewResult, now: EpochMs): Promise<void> {
    const { context } = this.#host;
    if (result.kind === "lost") {
      // One part of a batch is over; the engine may still hold the others (L82).
      this.isEnded = result.how !== "expired" && this.#lease.entries.also.length === 0;
      throw await this.lostAs(result);
    }
    this.#belief.observe();
    const { clockErrorMs } = context.scope;
    const { expiresAt, leaseMs } = result;
    const remainingMs = expiresAt - now;
    this.#belief.facts = changeCommitted(this.#belief.facts, {
      remainingMs,
      leaseMs,
      clockErrorMs,
    });
    if (isOver(this.#belief.facts)) return;
    this.expiresAt = expiresAt;
    this.#belief.arm();
    this.#host.keep(this.#lease);
    if (context.events.has("renewed")) {
      context.events.emit("renewed", {
        name: this.#lease.name,
        token: this.#lease.entries.first.token,
        expiresAt,
      });
    }
  }

  /** Told by the engine that the lease is over. */
  async lostAs(result: LostResult): Promise<LeaseLostError> {
    if (result.isRewind) {
      const { name, token } = this.#lease.entries.first;
      this.#host.context.events.emit("rewind", { name, token });
    }
    const { name, token } = this.#lease.entries.first;
    this.#belief.lose(lossOf(result) ?? (await findEnd(this.#host, name, token)));
    return this.#belief.lostError();
  }
}
