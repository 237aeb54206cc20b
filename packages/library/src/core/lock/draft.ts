import type { Decided, Decision, Needs, Snapshot, Write } from "../decision.ts";
import type { RecordKey } from "../key.ts";
import type { EpochMs, FencingToken, Json } from "../scalars.ts";
import { TokenOverflowError } from "../../errors.ts";
import { decodeFloor, decodeLock } from "./codec.ts";
import { auditRecordOf } from "./audit.ts";
import { floorKey, lockKey, queueKey } from "./keys.ts";
import {
  endedKeptMs,
  endedMax,
  tokenMax,
  type AuditEntry,
  type AuditKind,
  type Ended,
  type Grant,
  type How,
  type LockRecord,
  type Pages,
  type Ticket,
} from "./record.ts";
import type { LockScope } from "./scope.ts";

/** What a waiter or holder of the deciding space must know of a grant that was made for it. */
export interface GrantFacts {
  readonly id: string;
  readonly token: FencingToken;
  readonly kind: Grant["kind"];
  readonly mode: Grant["mode"];
  readonly owner: string;
  readonly leaseMs: number;
  readonly expiresAt: EpochMs;
  readonly grantedAt: EpochMs;
}

/** What a commit did beside answering its command; counted by the process that committed (L113). */
export interface Effects {
  /** Grants made, held at once, for tickets of the deciding space. */
  readonly granted: readonly GrantFacts[];
  readonly reclaimed: readonly EndFacts[];
  readonly withdrawn: readonly EndFacts[];
}

export interface EndFacts {
  readonly token: FencingToken;
  readonly owner: string;
  readonly kind: Grant["kind"];
}

/** The answer to a command, and what its commit did beside it. */
export interface Outcome<Result> {
  readonly now: EpochMs;
  readonly name: string;
  readonly result: Result;
  readonly effects: Effects;
  /** The widening bound was reached: run an advance at once, and the command again if unjudged. */
  readonly more: boolean;
}

// Shared by the many drafts that need none; they are replaced, never changed.
const noPresences: ReadonlySet<string> = new Set();
const noPages: ReadonlyMap<number, readonly Ticket[]> = new Map();
const noEffects: Effects = Object.freeze({ granted: [], reclaimed: [], withdrawn: [] });

/**
 * The working copy of one lock inside one decision.
 *
 * It is made from the snapshot, changed by the steps of the decision, and turned into writes once
 * at the end; nothing of the snapshot is mutated, and no draft outlives its decision.
 */
export class LockDraft {
  readonly snapshot: Snapshot;
  readonly scope: LockScope;
  readonly name: string;
  readonly key: RecordKey;
  readonly now: EpochMs;
  /** Whether no record is stored; then every write relies on the floor, too (L63). */
  readonly isAbsent: boolean;
  counter: FencingToken;
  nextTicket: number;
  grants: Grant[];
  queue: Ticket[];
  pages: Pages | undefined;
  ended: Ended[];
  hasChanged = false;
  /** The widening bound was reached before the walk had come to its end. */
  more = false;
  validUntil: EpochMs | undefined;
  /** Records read beyond those of the command; at most `scope.wideningMax`. */
  widened = 0;
  /** Presences of other spaces that this decision has read. */
  presencesRead: ReadonlySet<string> = noPresences;
  /** Whether the deciding space's own presence has been seen to. */
  keepsPresence = false;
  /** The changed pages of the queue. */
  pageWrites: ReadonlyMap<number, readonly Ticket[]> = noPages;
  readonly #stored: LockRecord | undefined;
  readonly #writes: Write[] = [];
  readonly #hints: RecordKey[] = [];
  readonly #audits: AuditEntry[] = [];
  #granted: GrantFacts[] = [];
  #reclaimed: EndFacts[] = [];
  #withdrawn: EndFacts[] = [];

  private constructor(snapshot: Snapshot, scope: LockScope, name: string, floor: number) {
    this.snapshot = snapshot;
    this.scope = scope;
    this.name = name;
    this.key = lockKey(scope.namespace, name);
    this.now = snapshot.now;
    const value = snapshot.get(this.key);
    const stored = value === undefined ? undefined : decodeLock(this.key, value);
    this.#stored = stored;
    this.isAbsent = stored === undefined;
    this.counter = stored?.counter ?? floor;
    this.nextTicket = stored?.nextTicket ?? 1;
    this.grants = stored === undefined ? [] : [...stored.grants];
    this.queue = stored === undefined ? [] : [...stored.queue];
    this.pages = stored?.pages;
    this.ended = stored === undefined ? [] : [...stored.ended];
  }

  /** The draft of a lock; asks for the floor as well when no record of the lock is stored. */
  static open(snapshot: Snapshot, scope: LockScope, name: string): LockDraft | Needs {
    const key = lockKey(scope.namespace, name);
    if (!snapshot.has(key)) return { needs: [key] };
    if (snapshot.get(key) !== undefined) return new LockDraft(snapshot, scope, name, 0);
    const floor = floorKey(scope.namespace);
    if (!snapshot.has(floor)) return { needs: [key, floor] };
    return new LockDraft(snapshot, scope, name, decodeFloor(floor, snapshot.get(floor)));
  }

  /** Number of waiting tickets, those in pages included. */
  get depth(): number {
    return this.queue.length + (this.pages?.depth ?? 0);
  }

  get canMint(): boolean {
    return this.counter < tokenMax;
  }

  /** The next token (L61); throws when there is none left (L62). */
  mint(): FencingToken {
    if (!this.canMint) throw new TokenOverflowError(this.name, this.counter);
    this.hasChanged = true;
    this.counter += 1;
    return this.counter;
  }

  /** Notes an end that this decision takes for not yet over. */
  relyOn(end: EpochMs): void {
    if (this.validUntil === undefined || end < this.validUntil) this.validUntil = end;
  }

  addGrant(grant: Grant): void {
    this.hasChanged = true;
    this.grants.push(grant);
  }

  replaceGrant(id: string, grant: Grant): void {
    this.hasChanged = true;
    this.grants = this.grants.map((each) => (each.id === id ? grant : each));
  }

  /** Takes a grant out of the record, remembers how it ended, and counts and audits the end. */
  endGrant(grant: Grant, how: How, more: Pick<Ended, "by" | "reason"> = {}): void {
    this.hasChanged = true;
    this.grants = this.grants.filter((each) => each !== grant);
    this.remember({ id: grant.id, token: grant.token, how, at: this.now, ...more });
    this.audit(how, grant, more);
    const facts: EndFacts = { token: grant.token, owner: grant.owner, kind: grant.kind };
    if (how === "reclaimed") this.#reclaimed.push(facts);
    if (how === "withdrawn") this.#withdrawn.push(facts);
  }

  /** Adds an entry to the `ended` list, which keeps the newest {@link endedMax} (L16). */
  remember(entry: Ended): void {
    this.hasChanged = true;
    const others = this.ended.filter((each) => each.id !== entry.id);
    if (others.length >= endedMax) others.splice(0, others.length - endedMax + 1);
    others.push(entry);
    this.ended = others;
  }

  endedOf(id: string): Ended | undefined {
    return this.ended.find((each) => each.id === id);
  }

  /** Notes an audit entry; it is stored with the commit when the level asks for it (L112). */
  audit(kind: AuditKind, grant: Grant, more: Pick<AuditEntry, "by" | "reason"> = {}): void {
    const { audit } = this.scope;
    if (audit === "off" || (audit === "exceptions" && isOrdinary(kind))) return;
    const { token, owner, actor, mode } = grant;
    const heldMs = Math.max(0, this.now - grant.grantedAt);
    this.#audits.push({ token, kind, owner, actor, mode, heldMs, ...more });
  }

  /** Notes that the counter was raised without a grant (L64, L65). */
  auditRaise(token: FencingToken, reason: string | undefined): void {
    if (this.scope.audit === "off") return;
    const { actor } = this.scope;
    const owner = `${actor.host}/${actor.pid}`;
    const why = reason === undefined ? {} : { by: actor, reason };
    this.#audits.push({ token, kind: "raised", owner, actor, mode: "exclusive", ...why });
  }

  /** Tells the deciding space of a grant that is held for one of its tickets. */
  tellGranted(grant: Grant): void {
    this.#granted.push(grantFacts(grant));
  }

  /** Tells the watchers of a key of this commit, although the key is not written. */
  hint(key: RecordKey): void {
    this.#hints.push(key);
  }

  write(key: RecordKey, value: Json | null): void {
    this.#writes.push({ key, value });
  }

  /**
   * The decision made from this draft; asks for the key of its audit record, which it must read.
   */
  decide<Result>(result: Result): Decision<Outcome<Result>> {
    const [first, ...also] = this.#audits;
    const audit = first === undefined ? undefined : auditRecordOf(this, first, also);
    if (audit !== undefined && !this.snapshot.has(audit.key)) return { needs: [audit.key] };
    if (audit !== undefined) this.#writes.push(audit);
    if (this.hasChanged) this.#writes.push({ key: this.key, value: this.#record() });
    for (const [page, tickets] of this.pageWrites)
      this.#writes.push(this.#pageWrite(page, tickets));
    const outcome: Outcome<Result> = {
      now: this.now,
      name: this.name,
      result,
      effects: this.#effects(),
      more: this.more,
    };
    const decided: {
      -readonly [Member in keyof Decided<Outcome<Result>>]: Decided<Outcome<Result>>[Member];
    } = { writes: this.#writes, outcome };
    if (this.validUntil !== undefined) decided.validUntil = this.validUntil;
    if (this.#hints.length > 0) decided.hints = this.#hints;
    return decided;
  }

  /** The write of a changed page of the queue; an empty page is deleted. */
  #pageWrite(page: number, tickets: readonly Ticket[]): Write {
    const key = queueKey(this.scope.namespace, this.name, page);
    const value = tickets.length === 0 ? null : ({ v: 1, tickets } as unknown as Json);
    return { key, value };
  }

  #effects(): Effects {
    const parts = this.#granted.length + this.#reclaimed.length + this.#withdrawn.length;
    if (parts === 0) return noEffects;
    return { granted: this.#granted, reclaimed: this.#reclaimed, withdrawn: this.#withdrawn };
  }

  /** The record to store, member by member: this runs once in every decision that writes. */
  #record(): Json {
    const oldest = this.now - endedKeptMs;
    const { limit } = this.#stored ?? {};
    const isAnyOld = this.ended.some((entry) => entry.at <= oldest);
    const record: { -readonly [Member in keyof LockRecord]: LockRecord[Member] } = {
      v: 1,
      counter: this.counter,
      nextTicket: this.nextTicket,
      grants: this.grants,
      queue: this.queue,
      ended: isAnyOld ? this.ended.filter((entry) => entry.at > oldest) : this.ended,
      touchedAt: this.now,
    };
    if (this.pages !== undefined) record.pages = this.pages;
    if (limit !== undefined) record.limit = limit;
    return record as unknown as Json;
  }
}

export function grantFacts(grant: Grant): GrantFacts {
  const { id, token, kind, mode, owner, leaseMs, expiresAt, grantedAt } = grant;
  return { id, token, kind, mode, owner, leaseMs, expiresAt, grantedAt };
}

function isOrdinary(kind: AuditKind): boolean {
  return (
    kind === "granted" ||
    kind === "claimed" ||
    kind === "resumed" ||
    kind === "released" ||
    kind === "cancelled"
  );
}
