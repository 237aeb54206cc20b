import type { Snapshot, Write } from "../../src/core/decision.ts";
import { encodeKey, type RecordKey } from "../../src/core/key.ts";
import type { Grant, LockRecord } from "../../src/core/lock/record.ts";
import { conflicts } from "../../src/core/lock/validity.ts";
import type { Json } from "../../src/core/scalars.ts";
import type { Lease } from "../../src/lock/lease-api.ts";

/** A lease as its holder sees it, and whether that holder can act at all. */
export interface Belief {
  readonly lease: Lease;
  readonly name: string;
  isRunning(): boolean;
}

/**
 * Watches a run from outside: every commit on every lock record, and what holders believe.
 *
 * Its own reading of the records is simple on purpose; it shares with the code under test only the
 * types and the conflict table.
 */
export class Checker {
  readonly violations: string[] = [];
  readonly rare: Map<string, number> = new Map();
  readonly #tokens: Map<string, number> = new Map();
  readonly #beliefs: Set<Belief> = new Set();
  /** Ended by force or resume: their holders may overlap with the next until they learn it (I9). */
  readonly #excused: Set<string> = new Set();
  commits = 0;
  grants = 0;

  note(event: string): void {
    this.rare.set(event, (this.rare.get(event) ?? 0) + 1);
  }

  believe(belief: Belief): void {
    this.#beliefs.add(belief);
  }

  /** A commit on the store. */
  commit(now: number, before: Snapshot, writes: readonly Write[]): void {
    this.commits += 1;
    for (const { key, value } of writes) {
      if (key[0] === "lock") this.#checkLock(now, key, before.get(key), value);
    }
  }

  /** At every instant: no two running holders that conflict both say held (I9, I10). */
  checkBeliefs(): void {
    const holding: Belief[] = [];
    for (const belief of this.#beliefs) {
      if (!belief.isRunning()) continue;
      const { state } = belief.lease;
      if (state === "lost" || state === "released") this.#beliefs.delete(belief);
      else if (state === "held") holding.push(belief);
    }
    for (const [i, one] of holding.entries()) {
      for (const other of holding.slice(i + 1)) this.#checkPair(one, other);
    }
  }

  #checkPair(one: Belief, other: Belief): void {
    if (one.name !== other.name || !conflicts(one.lease.mode, other.lease.mode)) return;
    const tokens = [one, other].map(({ lease, name }) => `${name}/${lease.token}`);
    if (tokens.some((token) => this.#excused.has(token))) return;
    this.violations.push(`I9: ${tokens.join(" and ")} are both held`);
  }

  #checkLock(now: number, key: RecordKey, before: Json | undefined, after: Json | null): void {
    const name = encodeKey(key);
    const old = before as LockRecord | undefined;
    if (after === null) {
      if (old?.grants.some((grant) => isLive(grant, now)) === true) {
        this.violations.push(`I7: a live grant of ${name} was deleted`);
      }
      return;
    }
    const record = after as unknown as LockRecord;
    const highest = this.#tokens.get(name) ?? 0;
    for (const grant of record.grants) this.#checkGrant(now, { name, record, grant, old, highest });
    this.#tokens.set(name, Math.max(highest, ...record.grants.map(({ token }) => token)));
    const live = record.grants.filter((grant) => isLive(grant, now));
    for (const [i, one] of live.entries()) {
      const clash = live.slice(i + 1).find((other) => conflicts(one.mode, other.mode));
      if (clash !== undefined) this.violations.push(`I4: ${name} has ${one.token}, ${clash.token}`);
    }
    this.#noteEnds(key[2] as string, old, record);
  }

  #checkGrant(
    now: number,
    scene: {
      readonly name: string;
      readonly record: LockRecord;
      readonly grant: Grant;
      readonly old: LockRecord | undefined;
      readonly highest: number;
    },
  ): void {
    const { name, record, grant, old, highest } = scene;
    if (grant.token > record.counter) this.violations.push(`I3: ${name} ${grant.token}`);
    if (grant.expiresAt > now + grant.spanMs) this.violations.push(`I31: ${name} ${grant.token}`);
    const earlier = old?.grants.find(({ token }) => token === grant.token);
    if (earlier === undefined) {
      this.grants += 1;
      if (grant.forced !== undefined) return;
      if (grant.token <= highest) this.violations.push(`I1: ${name} ${grant.token} again`);
      const past = old?.queue.filter((ticket) => isPassed(ticket, grant, { old, record })) ?? [];
      if (past.length > 0) this.violations.push(`I12: ${name} ${grant.token} passed a ticket`);
    } else if (!isLive(earlier, now) && isLive(grant, now) && earlier.expiresAt <= now + 0) {
      this.violations.push(`I8: ${name} ${grant.token} lives again`);
    }
  }

  #noteEnds(name: string, old: LockRecord | undefined, record: LockRecord): void {
    const known = new Set(old?.ended.map(({ id, how }) => `${id}${how}`));
    const left = new Set(record.grants.map(({ token }) => token));
    const gone = (old?.grants ?? []).filter(({ token }) => !left.has(token));
    for (const { id, how, token } of record.ended) {
      if (known.has(`${id}${how}`)) continue;
      this.note(how);
      if (how === "forced" || how === "superseded") this.#excused.add(`${name}/${token}`);
      // A record remembers its newest ends only. When one command forces more, the others are
      // known by being gone.
      if (how === "forced") for (const each of gone) this.#excused.add(`${name}/${each.token}`);
    }
  }
}

function isLive(grant: Grant, now: number): boolean {
  return now < grant.expiresAt && grant.forced === undefined;
}

/** An earlier ticket that conflicts with a new grant and is still in the queue behind it. */
function isPassed(
  ticket: LockRecord["queue"][number],
  grant: Grant,
  states: { readonly old: LockRecord | undefined; readonly record: LockRecord },
): boolean {
  const { old, record } = states;
  if (grant.kind === "resumed") return false;
  const own = old?.queue.find(({ id }) => id === grant.id)?.number ?? Infinity;
  const isStill = record.queue.some(({ id }) => id === ticket.id);
  return isStill && ticket.number < own && conflicts(ticket.mode, grant.mode);
}
