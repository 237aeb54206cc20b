import type { DurationMs, MonotonicMs } from "../core/scalars.ts";
import type { QueuedTimer } from "../time/timer-queue.ts";
import type { EngineCalls } from "./engine-calls.ts";
import type { LeaseHost, RenewedLease } from "./lease-host.ts";
import { nextRenewalMs } from "./lease-state.ts";
import type { SpaceConfig } from "./space-config.ts";
import type { SpaceContext } from "./space-context.ts";
import type { WaiterHost } from "./waiter.ts";

/** Leases that are renewed in one engine call; the event loop breathes between two of them. */
const leasesPerCall = 256;
/** Leases due within this part of their length go together (section 8). */
const bucketPart = 12;
/** The same for leases whose renewal has failed; the pause after a failure is a twelfth. */
const retryPart = 96;

interface Bucket {
  readonly leases: Set<RenewedLease>;
  readonly timer: QueuedTimer;
}

/**
 * Renews all leases of a space in batches (L43).
 *
 * Due times are rounded down to a grid of a twelfth of the lease, so that leases due together share
 * one bucket and one entry in the timer queue, however many they are.
 */
export class LeaseKeeper implements LeaseHost {
  readonly room: WaiterHost;
  readonly context: SpaceContext;
  readonly calls: EngineCalls;
  readonly #leases: Map<RenewedLease, string | null> = new Map();
  readonly #buckets: Map<string, Bucket> = new Map();

  constructor(room: WaiterHost) {
    this.room = room;
    this.context = room.context;
    this.calls = room.calls;
  }

  get config(): SpaceConfig {
    return this.context.config;
  }

  /** The leases that are neither lost nor released. */
  get leases(): readonly RenewedLease[] {
    return [...this.#leases.keys()];
  }

  keep(lease: RenewedLease): void {
    this.#unplan(lease);
    const { clock, entropy } = this.context;
    const nowMs = clock.monotonicMs();
    // A lease in doubt is asked about again, whoever renews it (L60).
    const isKept = lease.isRenewed || lease.facts.phase === "unverified";
    if (!isKept || nowMs >= lease.maxHoldAtMs) {
      this.#leases.set(lease, null);
      return;
    }
    const dueMs = nextRenewalMs(lease.facts, nowMs, entropy.fraction());
    const { leaseMs, failures } = lease.facts;
    const gridMs = Math.max(1, Math.floor(leaseMs / (failures > 0 ? retryPart : bucketPart)));
    // Rounded down, the pause after a failure could vanish, and an engine be asked without end.
    const slot = failures > 0 ? Math.ceil(dueMs / gridMs) : Math.floor(dueMs / gridMs);
    const name = `${gridMs}/${slot}`;
    const atMs = Math.max(nowMs, slot * gridMs);
    const bucket = this.#buckets.get(name) ?? this.#open(name, atMs);
    bucket.leases.add(lease);
    this.#leases.set(lease, name);
  }

  drop(lease: RenewedLease): void {
    this.#unplan(lease);
    this.#leases.delete(lease);
  }

  checkSuspend(): void {
    const gapMs = this.context.contact.suspendedMs();
    if (gapMs > 0) this.suspended(gapMs);
  }

  /** Makes every held lease unverified, and asks the engine about each at once (L60). */
  suspended(gapMs: DurationMs): void {
    const held = this.leases.filter(({ facts }) => facts.phase === "held");
    if (held.length === 0) return;
    for (const lease of held) lease.suspend(gapMs);
    this.#renew(held).catch((error: unknown) => {
      this.context.events.fail(error, "verifying leases");
    });
  }

  /** Stops all renewals; the leases themselves are released by the space. */
  close(): void {
    for (const { timer } of this.#buckets.values()) timer.cancel();
    this.#buckets.clear();
  }

  #open(name: string, atMs: MonotonicMs): Bucket {
    const timer = this.context.timers.schedule(atMs, () => this.#fire(name));
    const bucket: Bucket = { leases: new Set(), timer };
    this.#buckets.set(name, bucket);
    return bucket;
  }

  #unplan(lease: RenewedLease): void {
    const name = this.#leases.get(lease);
    if (name === undefined || name === null) return;
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return;
    bucket.leases.delete(lease);
    if (bucket.leases.size > 0) return;
    bucket.timer.cancel();
    this.#buckets.delete(name);
  }

  #fire(name: string): void {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return;
    this.#buckets.delete(name);
    this.#renew([...bucket.leases]).catch((error: unknown) => {
      this.context.events.fail(error, "renewing leases");
    });
  }

  /**
   * Renews, or verifies, leases part by part; one that is lost or fails does not disturb the
   * others.
   */
  async #renew(leases: readonly RenewedLease[]): Promise<void> {
    for (let from = 0; from < leases.length; from += leasesPerCall) {
      const part = leases.slice(from, from + leasesPerCall);
      // oxlint-disable-next-line no-await-in-loop -- bounded by the leases of the bucket
      await Promise.all(part.map((lease) => this.#keepOne(lease)));
    }
  }

  async #keepOne(lease: RenewedLease): Promise<void> {
    if (!this.#leases.has(lease)) return;
    this.#unplan(lease);
    this.#leases.set(lease, null);
    if (this.context.clock.monotonicMs() >= lease.maxHoldAtMs) return;
    await lease.keep();
    // A renewal that has failed, or that gave way to another change, is planned again.
    if (this.#leases.get(lease) === null) this.keep(lease);
  }
}
