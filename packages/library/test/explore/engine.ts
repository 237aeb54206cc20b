import {
  isNeeds,
  type Decide,
  type Decided,
  type Snapshot,
  type Write,
} from "../../src/core/decision.ts";
import type { Effects, Outcome } from "../../src/core/lock/outcome.ts";
import type { Grant, LockRecord, PresenceRecord } from "../../src/core/lock/record.ts";
import type { LockScope } from "../../src/core/lock/scope.ts";
import type { Json } from "../../src/core/scalars.ts";
import { brokenBy, lostWakeUp, type Step } from "./invariants.ts";
import { currentOf } from "./key.ts";
import type { Machine } from "./machine.ts";
import type { Command, Packet, Read, Script, State, Store, World } from "./state.ts";

/** The engine of the small worlds: one lock, its floor and the presences; time is in the state. */

const actor = Object.freeze({ host: "h", pid: 1 });
const namespace = "n";
export const lockName = "l";

export interface Made {
  readonly decided: Decided<unknown>;
  readonly reads: readonly Read[];
}

/** A step that could not be made, or that broke an invariant. */
export class Violation extends Error {
  /** What was done since the state in which liveness was asked for. */
  trail: readonly string[] = [];
}

export function scopeOf(world: World, presence: string): LockScope {
  return {
    namespace,
    presence,
    actor,
    clockErrorMs: 0,
    presenceMs: world.presenceMs,
    confirmMs: world.confirmMs,
    queueMax: 100,
    holdersMax: 100,
    wideningMax: world.wideningMax,
    audit: "off",
  };
}

/** Runs a decision on the stored state, and notes what it read. */
export function make(state: State, decide: Decide<unknown>): Made {
  const reads: Read[] = [];
  const { store, now } = state;
  const snapshot: Snapshot = {
    now,
    has: () => true,
    get: (key) => {
      const kind = key[0] as string;
      const id = kind === "presence" ? (key[2] as string) : "";
      const value = currentOf(store, kind, id);
      if (!reads.some((read) => read.kind === kind && read.id === id)) {
        reads.push({ kind, id, value });
      }
      return value as Json | undefined;
    },
  };
  const decision = decide(snapshot);
  if (isNeeds(decision)) throw new Violation("I35: a decision asks for what it has");
  return { decided: decision, reads };
}

/** Whether everything that was read is still as it was read. */
export function isUnchanged(machine: Machine, store: Store, reads: readonly Read[]): boolean {
  return reads.every(
    ({ kind, id, value }) =>
      !machine.engine.isCompared(kind) || currentOf(store, kind, id) === value,
  );
}

function written(store: Store, writes: readonly Write[]): Store {
  const next: { -readonly [Part in keyof Store]: Store[Part] } = { ...store };
  for (const { key, value } of writes) {
    const record = (value ?? undefined) as unknown;
    if (key[0] === "lock") next.lock = record as LockRecord | undefined;
    else if (key[0] === "floor") next.floor = record as Store["floor"];
    else next.presences = withPresence(next.presences, key[2] as string, record);
  }
  return next;
}

function withPresence(
  presences: Store["presences"],
  id: string,
  record: unknown,
): Store["presences"] {
  return { ...presences, [id]: record as PresenceRecord | undefined };
}

/** Who commits what, for the invariants. */
export interface Deed {
  readonly presence: string;
  readonly command: Command | null;
  readonly outcome: unknown;
  readonly isEcho: boolean;
  /** Engine time of a decision that commits later; null when it commits as it is made. */
  readonly decidedAt: number | null;
}

/** Commits a decision; throws a {@link Violation} when that breaks an invariant. */
export function commit(machine: Machine, state: State, made: Decided<unknown>, deed: Deed): State {
  if (made.writes.length === 0) return state;
  const store = written(state.store, made.writes);
  const highest = Math.max(state.highest, store.lock?.counter ?? 0);
  const next = { ...state, store, highest };
  checkCommit(state, next, deed);
  const packets = next.packets.filter((packet) => mayStillCommit(machine, next, packet));
  return { ...next, packets };
}

/** A packet whose reads have changed for good, or whose time is over, can never commit. */
export function mayStillCommit(machine: Machine, state: State, packet: Packet): boolean {
  if (packet.kind === "echo" || packet.isAwaited) return true;
  if (state.now >= packet.validUntil) return false;
  return packet.reads.every(
    ({ kind, id, value }) =>
      value === undefined ||
      !machine.engine.isCompared(kind) ||
      currentOf(state.store, kind, id) === value,
  );
}

function checkCommit(before: State, after: State, deed: Deed): void {
  const { command } = deed;
  const id = command !== null && "id" in command ? command.id : null;
  const counted = countedIn(deed.outcome);
  const step = {
    now: after.now,
    ...(deed.decidedAt === null ? {} : { decidedAt: deed.decidedAt }),
    clockErrorMs: 0,
    before: before.store.lock,
    after: after.store.lock,
    floorBefore: before.store.floor?.floor ?? 0,
    floorAfter: after.store.floor?.floor ?? 0,
    highest: before.highest,
    by: deed.presence,
    presences: presenceMap(before.store),
    mayEnd: (grant: Grant) => mayEnd(deed, grant),
    quits: command?.do === "leave" || command?.do === "cancel" ? id : null,
    asks: id,
    counted,
  };
  const broken = brokenBy(step) ?? brokenRepeat(before, after, deed);
  if (broken !== null) throw new Violation(broken);
  if (deed.decidedAt === null) checkDue(step, before, after, deed);
  const hasMore = (deed.outcome as { readonly more?: boolean } | null)?.more === true;
  if (deed.decidedAt !== null || hasMore || !mustWalk(before, after, command)) return;
  const lost = lostWakeUp({ ...step, before: after.store.lock });
  if (lost !== null) throw new Violation(lost);
}

/** I19 and I21: what a decision that is made now must have seen to. */
function checkDue(step: Omit<Step, "before">, before: State, after: State, deed: Deed): void {
  const { lock } = after.store;
  if (lock !== undefined && lock !== before.store.lock) {
    const isOverdue = lock.grants.some(
      ({ state, expiresAt }) => state === "pending" && step.now >= expiresAt,
    );
    if (isOverdue) throw new Violation("I19: a pending grant that is over was left standing");
  }
  if (deed.command?.do !== "leave") return;
  const { id } = deed.command;
  const queue = before.store.lock?.queue.filter((ticket) => ticket.id === id) ?? [];
  const record = before.store.lock && { ...before.store.lock, queue };
  const isFirst = before.store.lock?.queue[0]?.id === id;
  const isTaken = lock?.grants.some((grant) => grant.id === id) === true;
  if (isFirst && !isTaken && lostWakeUp({ ...step, before: record }) !== null) {
    throw new Violation("I21: a time-out is told although the ticket was grantable");
  }
}

/** Whether a commit must leave nobody grantable: one for a request, or one that ended anything. */
function mustWalk(before: State, after: State, command: Command | null): boolean {
  const [old, now] = [before.store.lock, after.store.lock];
  if (now === undefined || now === old) return false;
  if (command?.do === "ask" || command?.do === "look" || command?.do === "leave") return true;
  const isOver = (grant: Grant): boolean =>
    grant.forced === undefined &&
    !now.grants.some(({ token, forced }) => token === grant.token && forced === undefined);
  const isOut = (ticket: { readonly id: string }): boolean =>
    !now.queue.some(({ id }) => id === ticket.id) && !now.grants.some(({ id }) => id === ticket.id);
  return old?.grants.some(isOver) === true || old?.queue.some(isOut) === true;
}

/** I34: what arrives late or doubled takes nothing from a lease or a place. */
function brokenRepeat(before: State, after: State, deed: Deed): string | null {
  if (!deed.isEcho || deed.command === null || !("id" in deed.command)) return null;
  const { id } = deed.command;
  const old = before.store.lock?.grants.find((grant) => grant.id === id);
  const now = after.store.lock?.grants.find((grant) => grant.id === id);
  const isAlive = old !== undefined && before.now < old.expiresAt;
  if (isAlive && old.presence !== deed.presence && now === undefined) {
    return "I34: a late packet ended a grant that has gone on elsewhere";
  }
  if (isAlive && now !== undefined && now.expiresAt < old.expiresAt) {
    return "I34: a late packet shortened a lease";
  }
  const ticket = before.store.lock?.queue.find((each) => each.id === id);
  const isKept =
    after.store.lock?.queue.some((each) => each.id === id) === true || now !== undefined;
  const presence = ticket === undefined ? undefined : before.store.presences[ticket.presence];
  const hasPlace =
    presence !== undefined &&
    before.now < presence.aliveUntil &&
    before.now < (ticket?.giveUpAt ?? Infinity);
  if (hasPlace && ticket?.presence !== deed.presence && !isKept) {
    return "I34: a late packet took a place that has gone on elsewhere";
  }
  return null;
}

function mayEnd({ presence, command }: Deed, grant: Grant): boolean {
  switch (command?.do) {
    case "release":
      return grant.id === command.id;
    case "cancel":
      return grant.id === command.id && grant.presence === presence;
    case "ask":
    case "look":
    case "leave":
      return grant.id === command.id;
    case "resume":
      return grant.kind !== "lease";
    case "releaseClaim":
      return grant.kind === "claim";
    case "force":
      return true;
    case "presence":
    case "renew":
    case undefined:
      return false;
  }
}

function countedIn(outcome: unknown): readonly number[] {
  const { effects, reclaimed } = (outcome ?? {}) as Partial<Outcome<unknown>> & {
    readonly reclaimed?: Effects["reclaimed"];
  };
  const facts = [
    ...(effects?.reclaimed ?? []),
    ...(effects?.withdrawn ?? []),
    ...(reclaimed ?? []),
  ];
  return facts.map(({ token }) => token);
}

function presenceMap({ presences }: Store): ReadonlyMap<string, PresenceRecord> {
  const entries = Object.entries(presences).filter(([, record]) => record !== undefined);
  return new Map(entries as (readonly [string, PresenceRecord])[]);
}

/** The decision function of a client's command. */
export function decideOf(
  machine: Machine,
  world: World,
  sender: { readonly presence: string; readonly script: Script; readonly left: number | null },
  command: Command,
): Decide<unknown> {
  const scope = scopeOf(world, sender.presence);
  const name = lockName;
  switch (command.do) {
    case "ask": {
      const { mode, kind } = sender.script;
      const { leaseMs, lockDelayMs } = world;
      const fixed = { scope, name, kind, mode, owner: sender.script.owner, leaseMs, lockDelayMs };
      const waitMs = sender.script.waitMs === 0 ? 0 : sender.left;
      const { id, isRepeat } = command;
      const asked = { ...fixed, id, isRepeat, waitMs };
      return (snapshot) => machine.acquire.decideAcquire(snapshot, asked);
    }
    case "look": {
      const tickets = [{ id: command.id, number: command.number, mode: sender.script.mode }];
      return (snapshot) => machine.look.decideLook(snapshot, { scope, name, tickets });
    }
    case "leave": {
      const ticket = { id: command.id, number: command.number, mode: sender.script.mode };
      return (snapshot) => machine.look.decideGiveUp(snapshot, { scope, name, ticket });
    }
    case "cancel": {
      const { id, number } = command;
      return (snapshot) => machine.cancel.decideCancel(snapshot, { scope, name, id, number });
    }
    case "renew":
      return (snapshot) => machine.renew.decideRenew(snapshot, { ...command, scope, name });
    case "release": {
      const { id, how } = command;
      return (snapshot) => machine.release.decideRelease(snapshot, { scope, name, id, how });
    }
    case "presence":
      return (snapshot) => machine.spaceRecords.decidePresence(snapshot, scope);
    case "force":
    case "releaseClaim":
    case "resume":
      return decideAdministration(machine, scope, command, sender.script.owner);
  }
}

function decideAdministration(
  machine: Machine,
  scope: LockScope,
  command: Extract<Command, { readonly do: "resume" | "releaseClaim" | "force" }>,
  owner: string,
): Decide<unknown> {
  const name = lockName;
  if (command.do === "resume") {
    const asked = { scope, name, owner, id: command.id, ifUnresumed: false };
    return (snapshot) => machine.resume.decideResume(snapshot, asked);
  }
  if (command.do === "releaseClaim") {
    return (snapshot) => machine.release.decideReleaseClaim(snapshot, { scope, name, owner });
  }
  const forced = { scope, name, token: null, reason: "why", isWithoutDelay: false };
  return (snapshot) => machine.force.decideForce(snapshot, forced);
}
