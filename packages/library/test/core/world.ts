import { decideAcquire } from "../../src/core/lock/acquire.ts";
import { type AcquireCommand } from "../../src/core/lock/acquire-command.ts";
import type { AcquireResult } from "../../src/core/lock/acquire.ts";
import { decideCancel, type CancelResult } from "../../src/core/lock/cancel.ts";
import type { Effects, Outcome } from "../../src/core/lock/outcome.ts";
import { decideForce, type ForceCommand, type ForceResult } from "../../src/core/lock/force.ts";
import { decideGiveUp, decideLook } from "../../src/core/lock/look.ts";
import type { GiveUpResult, LookResult } from "../../src/core/lock/look.ts";
import type { Grant, LockRecord, Mode, Ticket } from "../../src/core/lock/record.ts";
import { decideRelease, decideReleaseClaim } from "../../src/core/lock/release.ts";
import { decideRenew, type RenewCommand, type RenewResult } from "../../src/core/lock/renew.ts";
import { decideResume } from "../../src/core/lock/resume.ts";
import type { LockScope } from "../../src/core/lock/scope.ts";
import type { GrantFacts } from "../../src/core/lock/facts.ts";
import type { Json } from "../../src/core/scalars.ts";
import { TestStore } from "./store.ts";

/** Engine time at which every test world begins. */
export const start = 1_700_000_000_000;
export const actor = Object.freeze({ host: "h", pid: 1 });

function scopeOf(presence: string, more: Partial<LockScope> = {}): LockScope {
  return {
    namespace: "ns",
    presence,
    actor,
    clockErrorMs: 0,
    presenceMs: 15_000,
    confirmMs: 5_000,
    queueMax: 10_000,
    holdersMax: 1_000,
    wideningMax: 128,
    audit: "exceptions",
    ...more,
  };
}

export function acquireOf(
  presence: string,
  id: string,
  more: Partial<AcquireCommand> = {},
): AcquireCommand {
  return {
    scope: scopeOf(presence),
    name: "a",
    id,
    kind: "lease",
    mode: "exclusive",
    owner: presence,
    leaseMs: 30_000,
    lockDelayMs: 0,
    waitMs: 30_000,
    isRepeat: false,
    ...more,
  };
}

export function grantOf(id: string, more: Partial<Grant> = {}): Grant {
  return {
    id,
    kind: "lease",
    state: "held",
    token: 1,
    mode: "exclusive",
    owner: "A",
    actor,
    leaseMs: 30_000,
    spanMs: 30_000,
    expiresAt: start + 30_000,
    grantedAt: start,
    lockDelayMs: 0,
    size: 1,
    presence: "A",
    change: 0,
    ...more,
  };
}

export function ticketOf(id: string, number: number, more: Partial<Ticket> = {}): Ticket {
  return {
    id,
    number,
    kind: "lease",
    mode: "exclusive",
    owner: "B",
    actor,
    leaseMs: 30_000,
    lockDelayMs: 0,
    enqueuedAt: start,
    giveUpAt: start + 35_000,
    presence: "B",
    size: 1,
    ...more,
  };
}

/** A stored lock; `counter` and `nextTicket` follow from its grants and tickets. */
export function lockOf(more: Partial<LockRecord> = {}): LockRecord {
  const tokens = (more.grants ?? []).map(({ token }) => token);
  const numbers = (more.queue ?? []).map(({ number }) => number);
  return {
    v: 1,
    counter: Math.max(0, ...tokens),
    nextTicket: Math.max(0, ...numbers) + 1,
    grants: [],
    queue: [],
    ended: [],
    touchedAt: start,
    ...more,
  };
}

/** A store with short words for the decisions of several presences on one lock. */
export class World extends TestStore {
  /** Settings of every scope of this world. */
  settings: Partial<LockScope> = {};
  effects: Effects | undefined;
  more = false;

  withLock(more: Partial<LockRecord>, name = "a"): this {
    this.put(["lock", "ns", name], lockOf(more) as unknown as Json);
    return this;
  }

  withPresence(id: string, aliveUntil = start + 15_000): this {
    this.put(["presence", "ns", id], { v: 1, actor, aliveUntil, spanMs: 15_000 });
    return this;
  }

  scope(presence: string): LockScope {
    return scopeOf(presence, this.settings);
  }

  acquire(presence: string, id: string, more: Partial<AcquireCommand> = {}): AcquireResult {
    const scope = this.scope(presence);
    const command = acquireOf(presence, id, { scope, ...more });
    return this.#take(this.apply((snapshot) => decideAcquire(snapshot, command)));
  }

  try(presence: string, id: string, more: Partial<AcquireCommand> = {}): AcquireResult {
    return this.acquire(presence, id, { waitMs: 0, ...more });
  }

  renew(presence: string, id: string, more: Partial<RenewCommand> = {}): RenewResult {
    const fixed = { scope: this.scope(presence), name: "a", id, token: 1, change: 1 } as const;
    const command: RenewCommand = { ...fixed, how: "keep", lengthMs: null, ...more };
    return this.#take(this.apply((snapshot) => decideRenew(snapshot, command)));
  }

  release(presence: string, id: string, how: "released" | "lost" = "released"): boolean {
    const command = { scope: this.scope(presence), name: "a", id, how };
    return this.#take(this.apply((snapshot) => decideRelease(snapshot, command)));
  }

  look(presence: string, ...tickets: readonly (readonly [string, number])[]): LookResult {
    const named = tickets.map(([id, number]) => ({ id, number, mode: this.#modeOf(id) }));
    const command = { scope: this.scope(presence), name: "a", tickets: named };
    return this.#take(this.apply((snapshot) => decideLook(snapshot, command)));
  }

  giveUp(presence: string, id: string, number: number): GiveUpResult {
    const ticket = { id, number, mode: this.#modeOf(id) };
    const command = { scope: this.scope(presence), name: "a", ticket };
    return this.#take(this.apply((snapshot) => decideGiveUp(snapshot, command)));
  }

  /** What the waiter of a ticket knows of it. */
  #modeOf(id: string): Mode {
    const { queue, grants } = this.lock();
    return [...queue, ...grants].find((each) => each.id === id)?.mode ?? "exclusive";
  }

  cancel(presence: string, id: string, number: number | null = null): CancelResult["ended"] {
    const command = { scope: this.scope(presence), name: "a", id, number };
    return this.#take(this.apply((snapshot) => decideCancel(snapshot, command))).ended;
  }

  force(presence: string, more: Partial<ForceCommand> = {}): ForceResult["ended"] {
    const fixed = { scope: this.scope(presence), name: "a", token: null, reason: "why" };
    const command: ForceCommand = { ...fixed, isWithoutDelay: false, ...more };
    return this.#take(this.apply((snapshot) => decideForce(snapshot, command))).ended;
  }

  resume(presence: string, id: string, owner: string, ifUnresumed = false): GrantFacts | null {
    const command = { scope: this.scope(presence), name: "a", owner, id, ifUnresumed };
    return this.#take(this.apply((snapshot) => decideResume(snapshot, command)));
  }

  releaseClaim(presence: string, owner: string): boolean {
    const command = { scope: this.scope(presence), name: "a", owner };
    return this.#take(this.apply((snapshot) => decideReleaseClaim(snapshot, command))) !== null;
  }

  /** Grants as short text: `id:token:state`. */
  grants(name = "a"): string {
    return this.lock(name)
      .grants.map(({ id, token, state, forced }) => `${id}:${token}:${forced ? "barred" : state}`)
      .join(" ");
  }

  queue(name = "a"): string {
    return this.lock(name)
      .queue.map(({ id }) => id)
      .join(" ");
  }

  ended(name = "a"): string {
    return this.lock(name)
      .ended.map(({ id, how }) => `${id}:${how}`)
      .join(" ");
  }

  audits(): readonly string[] {
    return this.keys("audit").map((key) => key.split("/").slice(4).join(":").replace(/^0+/, ""));
  }

  #take<Result>(outcome: Outcome<Result>): Result {
    this.effects = outcome.effects;
    this.more = outcome.more;
    return outcome.result;
  }
}
