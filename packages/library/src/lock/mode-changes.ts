import { lockKey } from "../core/lock/keys.ts";
import { decideDowngrade } from "../core/lock/upgrade.ts";
import type { Guard } from "../fence/guard.ts";
import { LockAbortedError, LockWaitTimeoutError } from "../errors.ts";
import { checkKnown, checkSignal } from "./argument-checks.ts";
import type { FencedLease } from "./changing-lease.ts";
import { installFence } from "./fence-install.ts";
import type { LeaseHost } from "./lease-host.ts";
import { parseWait } from "./request.ts";
import type { UpgradeOptions } from "./request-api.ts";
import { UpgradeWish } from "./upgrade-wish.ts";

/**
 * Makes the locks of one lease exclusive, and shared again (L74 to L77). Wishes of one lease follow
 * each other: one that was given up is known to be gone before the next one is sent.
 */
export class ModeChanges {
  readonly #host: LeaseHost;
  readonly #lease: FencedLease;
  #before: Promise<unknown> = Promise.resolve();

  constructor(host: LeaseHost, lease: FencedLease) {
    this.#host = host;
    this.#lease = lease;
  }

  async upgrade(options: UpgradeOptions): Promise<void> {
    checkKnown("options", options, ["name", "wait", "signal"], "upgrade");
    const waitMs = parseWait(options.wait);
    const signal = checkSignal(options.signal);
    const name = this.#nameOf(options.name);
    this.#assertChangeable("upgrade");
    if (signal?.aborted === true) throw new LockAbortedError(name, signal.reason);
    await this.#inTurn(() => this.#wish(name, waitMs, signal));
  }

  async tryUpgrade(options: { readonly name?: string | undefined }): Promise<boolean> {
    checkKnown("options", options, ["name"], "tryUpgrade");
    const name = this.#nameOf(options.name);
    this.#assertChangeable("tryUpgrade");
    try {
      await this.#inTurn(() => this.#wish(name, 0, undefined));
      return true;
    } catch (error) {
      if (error instanceof LockWaitTimeoutError) return false;
      throw error;
    }
  }

  async downgrade(options: { readonly name?: string | undefined }): Promise<void> {
    checkKnown("options", options, ["name"], "downgrade");
    const name = this.#nameOf(options.name);
    this.#assertChangeable("downgrade");
    await this.#inTurn(() => this.#downgrade(name));
  }

  #nameOf(name: string | undefined): string {
    const { first } = this.#lease.entries;
    return name === undefined ? first.name : this.#lease.entries.of(name).name;
  }

  #assertChangeable(operation: string): void {
    this.#host.context.lifetime.assertWritable(operation);
    this.#lease.assertNotOver();
  }

  async #inTurn<Value>(change: () => Promise<Value>): Promise<Value> {
    const changing = this.#before.then(change);
    this.#before = changing.catch(() => undefined);
    return changing;
  }

  async #wish(name: string, waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    this.#lease.assertNotOver();
    if (this.#lease.entries.of(name).mode === "exclusive") return;
    const wish = new UpgradeWish(this.#host, this.#lease, name);
    try {
      const entry = await wish.granted(waitMs, signal);
      this.#lease.entries.replace(entry);
    } catch (error) {
      // What was given up is gone before another wish of this lease is sent.
      this.#before = wish.cancelled();
      throw error;
    }
    if (this.#lease.guard !== undefined) await this.#install(name, this.#lease.guard);
    this.#lease.assertNotOver();
  }

  /** Without its marks an upgrade is not kept: shared again, with its new token (L71). */
  async #install(name: string, guard: Guard): Promise<void> {
    try {
      await installFence(this.#host.calls, this.#lease, guard);
    } catch (error) {
      await this.#downgrade(name).catch(() => undefined);
      throw error;
    }
  }

  async #downgrade(name: string): Promise<void> {
    const { calls } = this.#host;
    const { leaseId: id, entries } = this.#lease;
    const { scope } = entries;
    const { token } = entries.of(name);
    this.#lease.assertNotOver();
    const change = this.#lease.takeChange();
    const command = { scope, name, id, token, change };
    const { outcome } = await calls.untilAnswered(
      [lockKey(scope.namespace, name, scope.part)],
      (snapshot) => decideDowngrade(snapshot, command),
      { deadlineMs: calls.deadlineMs() },
    );
    const { result } = outcome;
    if (result.kind === "lost") throw await this.#lease.lostAs(result);
    entries.replace(result.entry);
    this.#lease.assertNotOver();
  }
}
