import { isNeeds, type Decision, type Snapshot } from "../core/decision.ts";
import type { RecordKey } from "../core/key.ts";
import type { GrantEntry, GrantFacts } from "../core/lock/facts.ts";
import { lockKey } from "../core/lock/keys.ts";
import type { TicketRef } from "../core/lock/look.ts";
import type { Outcome } from "../core/lock/outcome.ts";
import type { LostResult } from "../core/lock/renew.ts";
import type { LockScope } from "../core/lock/scope.ts";
import type { DurationMs } from "../core/scalars.ts";
import {
  decideCancelUpgrade,
  decideUpgrade,
  type UpgradeCommand,
  type UpgradeResult,
} from "../core/lock/upgrade.ts";
import { EngineUnavailableError, LockWaitTimeoutError, UpgradeConflictError } from "../errors.ts";
import type { LeaseHost } from "./lease-host.ts";
import type { ChangingLease } from "./changing-lease.ts";
import { Waiter } from "./waiter.ts";
import type { AskResult, Attempted, KnownTicket, Wish } from "./wish.ts";

/** The wish that a shared lease becomes exclusive; it stands before all tickets (L74). */
export class UpgradeWish implements Wish {
  readonly name: string;
  readonly scope: LockScope;
  readonly keys: readonly RecordKey[];
  readonly names: readonly string[];
  readonly limit = 0;
  readonly #host: LeaseHost;
  readonly #lease: ChangingLease;
  readonly #token: number;
  #cancelling: Promise<void> = Promise.resolve();
  #lost: LostResult | undefined;

  constructor(host: LeaseHost, lease: ChangingLease, name: string) {
    this.#host = host;
    this.#lease = lease;
    this.name = name;
    this.scope = lease.entries.scope;
    this.names = [name];
    this.keys = [lockKey(this.scope.namespace, name, this.scope.part)];
    this.#token = lease.entries.of(name).token;
  }

  /** Waits for the upgrade, or asks once when there is no time to wait. */
  async granted(waitMs: DurationMs, signal: AbortSignal | undefined): Promise<GrantEntry> {
    const grant = await (waitMs === 0 ? this.#askOnce() : this.#wait(waitMs, signal));
    return grant.entries[0] as GrantEntry;
  }

  /** Resolves when nothing of a given-up wish is left in the store. */
  cancelled(): Promise<void> {
    return this.#cancelling;
  }

  ask(attempt: Attempted): (snapshot: Snapshot) => Decision<Outcome<AskResult>> {
    const command = this.#command(attempt);
    return (snapshot) => {
      const decision = decideUpgrade(snapshot, command);
      if (isNeeds(decision)) return decision;
      const { outcome } = decision;
      return { ...decision, outcome: { ...outcome, result: this.#answerOf(outcome.result) } };
    };
  }

  ticketOn(_name: string, id: string, number: number): TicketRef {
    return { id, number, mode: "exclusive", upgrades: this.#lease.leaseId };
  }

  cancel({ id }: KnownTicket): void {
    const { background, calls, context } = this.#host.room;
    const { name, scope } = this;
    const command = { ...this.#fixed(), attempt: id, change: this.#lease.takeChange() };
    // An upgrade that nobody takes lives as long as its lease.
    const lastsMs = this.#lease.leaseMs + context.config.callTimeoutMs;
    const deadlineMs = context.clock.monotonicMs() + lastsMs;
    const cancelling = background.hold(
      calls.untilAnswered(this.keys, (snapshot) => decideCancelUpgrade(snapshot, command), {
        deadlineMs,
        isBackground: true,
      }),
    );
    this.#cancelling = cancelling.then(
      () => undefined,
      (error: unknown) =>
        context.events.fail(error, `giving up an upgrade of ${scope.namespace}/${name}`),
    );
  }

  /** The upgrade leaves the end of the lease as it is: the lease itself watches that. */
  isOverdue(): boolean {
    return false;
  }

  async #wait(waitMs: DurationMs, signal: AbortSignal | undefined): Promise<GrantFacts> {
    try {
      return (await new Waiter(this.#host.room, this, { waitMs, signal }).promise).grant;
    } catch (error) {
      throw this.#lost === undefined ? error : await this.#lease.lostAs(this.#lost);
    }
  }

  async #askOnce(): Promise<GrantFacts> {
    const { calls, context } = this.#host.room;
    const id = context.entropy.id();
    const deadlineMs = calls.deadlineMs();
    // A renewal may have overtaken the wish: then it is asked anew.
    while (context.clock.monotonicMs() < deadlineMs) {
      let command = this.#command({ id, isRepeat: false, waitMs: 0 });
      // oxlint-disable-next-line no-await-in-loop -- each turn depends on the one before
      const { outcome } = await calls.untilAnswered(
        this.keys,
        (snapshot, isRepeat) => {
          if (isRepeat) command = this.#command({ id, isRepeat, waitMs: 0 });
          return decideUpgrade(snapshot, command);
        },
        { deadlineMs },
      );
      const { result } = outcome;
      if (result.kind === "upgraded") return result.grant;
      // oxlint-disable-next-line no-await-in-loop -- the end of the call
      if (result.kind === "lost") throw await this.#lease.lostAs(result);
      if (result.kind === "conflict") throw new UpgradeConflictError(this.name, result.other);
      if (result.kind === "refused") throw new LockWaitTimeoutError(result.denial, 0);
    }
    const facts = { outcome: "none", isTransient: true } as const;
    throw new EngineUnavailableError(context.engine.capabilities.engine, "no verdict", facts);
  }

  #answerOf(result: UpgradeResult): AskResult {
    switch (result.kind) {
      case "upgraded":
        return { kind: "granted", grant: result.grant };
      case "queued":
        return { ...result, also: [] };
      case "refused":
        return result;
      case "overtaken":
        return { kind: "unjudged" };
      case "conflict":
        return { kind: "failed", error: new UpgradeConflictError(this.name, result.other) };
      case "lost":
        this.#lost = result;
        return { kind: "failed", error: this.#lease.lossError() };
    }
  }

  #command({ id, waitMs }: Attempted): UpgradeCommand {
    return { ...this.#fixed(), attempt: id, waitMs, change: this.#lease.takeChange() };
  }

  #fixed(): Pick<UpgradeCommand, "scope" | "name" | "id" | "token"> {
    return { scope: this.scope, name: this.name, id: this.#lease.leaseId, token: this.#token };
  }
}
