/**
 * The working copies of one decision. They are two classes of one file because each knows the
 * other: a decision opens locks, and what befalls a lock counts for its decision.
 */

import type { Needs, Snapshot, Write } from "../decision.ts";
import type { RecordKey } from "../key.ts";
import type { EpochMs, FencingToken, Json } from "../scalars.ts";
import { TokenOverflowError } from "../../errors.ts";
import { decodeFloor, decodeLock } from "./codec.ts";
import type { EndFacts, GrantFacts } from "./facts.ts";
import { floorKey, lockKey } from "./keys.ts";
import type { Effects, LeftOver } from "./outcome.ts";
import {
  endedMax,
  tokenMax,
  type AuditEntry,
  type AuditKind,
  type Ended,
  type Grant,
  type How,
  type Mode,
  type Pages,
  type Ticket,
} from "./record.ts";
import type { LockScope } from "./scope.ts";

// Shared by the many decisions that need none; they are replaced, never changed.
const noPresences: ReadonlySet<string> = new Set();
const noEffects: Effects = Object.freeze({ granted: [], reclaimed: [], withdrawn: [] });
const nothingLeft: readonly LeftOver[] = Object.freeze([]);

/**
 * The working copy of everything that one decision touches: its locks, and what they share.
 *
 * It is made from the snapshot, changed by the steps of the decision, and turned into writes once
 * at the end; nothing of the snapshot is mutated, and no draft outlives its decision.
 */
export class DecisionDraft {
  readonly snapshot: Snapshot;
  readonly scope: LockScope;
  readonly now: EpochMs;
  /** The locks of the decision in the order in which they were opened. */
  readonly locks: LockDraft[] = [];
  validUntil: EpochMs | undefined;
  /** Records read beyond those of the command; at most `scope.wideningMax`. */
  widened = 0;
  /** Presences of other spaces that this decision has read. */
  presencesRead: ReadonlySet<string> = noPresences;
  /** Whether the deciding space's own presence has been seen to. */
  keepsPresence = false;
  /** Tickets that the walks have looked at; there is always room for the first one (L131). */
  examined = 0;
  leftOver: readonly LeftOver[] = nothingLeft;
  /** Examined tickets of batches that another lock holds back, by id, and that lock. */
  heldBack: Map<string, string> | undefined;
  #granted: GrantFacts[] | undefined;
  #ended: { readonly reclaimed: EndFacts[]; readonly withdrawn: EndFacts[] } | undefined;
  /** Writes of records that are no lock's own: presences and batches. */
  readonly writes: Write[] = [];
  hints: readonly RecordKey[] | undefined;
  #byName: Map<string, LockDraft> | undefined;

  constructor(snapshot: Snapshot, scope: LockScope) {
    this.snapshot = snapshot;
    this.scope = scope;
    this.now = snapshot.now;
  }

  /** Whether the widening bound was reached before the walk had come to its end. */
  get more(): boolean {
    return this.leftOver.length > 0;
  }

  get isAtBound(): boolean {
    return this.widened >= this.scope.wideningMax;
  }

  /** The draft of a lock that this decision has opened before. */
  opened(name: string): LockDraft | undefined {
    if (this.#byName !== undefined) return this.#byName.get(name);
    return this.locks.find((lock) => lock.name === name);
  }

  /**
   * The drafts of several locks, in the order of their names; asks for all records that are missing
   * at once, and for the floor as well when one of the locks has no record (L63).
   */
  open(names: readonly string[]): readonly LockDraft[] | Needs {
    const { snapshot, scope } = this;
    const keys: RecordKey[] = [];
    let isUnread = false;
    let isAbsent = false;
    for (const name of names) {
      const key = lockKey(scope.namespace, name, scope.part);
      keys.push(key);
      if (!snapshot.has(key)) isUnread = true;
      else if (snapshot.get(key) === undefined) isAbsent = true;
    }
    const floor = floorKey(scope.namespace);
    if (isAbsent && !snapshot.has(floor)) return { needs: [...keys, floor] };
    if (isUnread) return { needs: keys };
    return keys.map((key) => this.#opened(key[2] as string, key));
  }

  #opened(name: string, key: RecordKey): LockDraft {
    const before = this.opened(name);
    if (before !== undefined) return before;
    const value = this.snapshot.get(key);
    const floorAt = floorKey(this.scope.namespace);
    const floor = value === undefined ? decodeFloor(floorAt, this.snapshot.get(floorAt)) : 0;
    const lock = new LockDraft(this, { name, key, value, floor });
    this.locks.push(lock);
    if (this.locks.length > 8) this.#index(lock);
    return lock;
  }

  /** Notes an end that this decision takes for not yet over. */
  relyOn(end: EpochMs): void {
    if (this.validUntil === undefined || end < this.validUntil) this.validUntil = end;
  }

  /** Notes where the advance of a lock is to go on. */
  leaveOver(name: string, from: number): void {
    if (this.leftOver.some((left) => left.name === name)) return;
    const { part = "lock" } = this.scope;
    this.leftOver = [...this.leftOver, { name, part, from }];
  }

  get effects(): Effects {
    if (this.#granted === undefined && this.#ended === undefined) return noEffects;
    return { ...noEffects, ...this.#ended, granted: this.#granted ?? noEffects.granted };
  }

  /** Tells the deciding space of a grant that is held for one of its tickets. */
  tellGranted(facts: GrantFacts): void {
    (this.#granted ??= []).push(facts);
  }

  tellEnded(how: "reclaimed" | "withdrawn", facts: EndFacts): void {
    (this.#ended ??= { reclaimed: [], withdrawn: [] })[how].push(facts);
  }

  /** Tells the watchers of a key of this commit, although the key is not written. */
  hint(key: RecordKey): void {
    this.hints = [...(this.hints ?? []), key];
  }

  write(key: RecordKey, value: Json | null): void {
    this.writes.push({ key, value });
  }

  #index(lock: LockDraft): void {
    this.#byName ??= new Map(this.locks.map((each) => [each.name, each]));
    this.#byName.set(lock.name, lock);
  }
}

/** The draft of the one lock of a decision; asks for its records where they are missing. */
export function openLock(snapshot: Snapshot, scope: LockScope, name: string): LockDraft | Needs {
  const opened = new DecisionDraft(snapshot, scope).open([name]);
  return "needs" in opened ? opened : (opened[0] as LockDraft);
}

const noPages: ReadonlyMap<number, readonly Ticket[]> = new Map();

/**
 * Which waiting tickets an end on their lock may have made grantable: those that conflict with
 * what has ended (L132). Everything conflicts with an exclusive end, exclusive tickets with a
 * shared one.
 */
export type Stir = "none" | "exclusive" | "all";

/** What a draft of a lock is made from: `value` is undefined for a lock without a record. */
interface StoredLock {
  readonly name: string;
  readonly key: RecordKey;
  readonly value: Json | undefined;
  readonly floor: FencingToken;
}

/** The working copy of one lock inside one decision; see {@link DecisionDraft}. */
export class LockDraft {
  readonly decision: DecisionDraft;
  readonly name: string;
  readonly key: RecordKey;
  readonly now: EpochMs;
  /** Whether no record is stored; then every write relies on the floor, too (L63). */
  readonly isAbsent: boolean;
  counter: FencingToken;
  nextTicket: number;
  /** Permits in all, of a semaphore. */
  limit: number | undefined;
  grants: Grant[];
  queue: Ticket[];
  pages: Pages | undefined;
  ended: Ended[];
  hasChanged = false;
  /** The tickets that the walk has to look at because of what has ended so far. */
  stir: Stir = "none";
  /** A grant has ended, so tickets that only the holder limit kept back may go (L134). */
  hasFreedHolder = false;
  /** Tickets that this decision has taken out of the queue. */
  gone: Set<string> | undefined;
  /** The changed pages of the queue. */
  pageWrites: ReadonlyMap<number, readonly Ticket[]> = noPages;
  /** Entries of the audit record of this commit (L112). */
  audits: readonly AuditEntry[] | undefined;

  constructor(decision: DecisionDraft, { name, key, value, floor }: StoredLock) {
    this.decision = decision;
    this.name = name;
    this.key = key;
    this.now = decision.now;
    const stored = value === undefined ? undefined : decodeLock(key, value);
    this.isAbsent = stored === undefined;
    this.counter = stored?.counter ?? floor;
    this.nextTicket = stored?.nextTicket ?? 1;
    this.limit = stored?.limit;
    this.grants = stored === undefined ? [] : [...stored.grants];
    this.queue = stored === undefined ? [] : [...stored.queue];
    this.pages = stored?.pages;
    this.ended = stored === undefined ? [] : [...stored.ended];
  }

  get snapshot(): Snapshot {
    return this.decision.snapshot;
  }

  get scope(): LockScope {
    return this.decision.scope;
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
    this.decision.relyOn(end);
  }

  /** Notes that something of this mode has ended or left the queue. */
  stirBy(mode: Mode): void {
    if (this.stir === "all") return;
    this.stir = mode === "exclusive" || this.limit !== undefined ? "all" : "exclusive";
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
    this.dropGrant(grant);
    this.remember({ id: grant.id, token: grant.token, how, at: this.now, ...more });
    this.audit(how, grant, more);
    if (how !== "reclaimed" && how !== "withdrawn") return;
    const { token, owner, kind } = grant;
    this.decision.tellEnded(how, { name: this.name, token, owner, kind });
  }

  /** Takes a grant out of the record. */
  dropGrant(grant: Grant): void {
    this.hasChanged = true;
    this.grants = this.grants.filter((each) => each !== grant);
    this.stirBy(grant.mode);
    this.hasFreedHolder = true;
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
    this.#note({ token, kind, owner, actor, mode, heldMs, ...more });
  }

  /** Notes that the counter was raised without a grant (L64, L65). */
  auditRaise(token: FencingToken, reason: string | undefined): void {
    this.#auditDeed("raised", token, reason);
  }

  /** Notes that the limit of a semaphore was set (L106). */
  auditResize(token: FencingToken, reason: string): void {
    this.#auditDeed("resized", token, reason);
  }

  #auditDeed(kind: AuditKind, token: FencingToken, reason: string | undefined): void {
    if (this.scope.audit === "off") return;
    const { actor } = this.scope;
    const owner = `${actor.host}/${actor.pid}`;
    const why = reason === undefined ? {} : { by: actor, reason };
    this.#note({ token, kind, owner, actor, mode: "exclusive", ...why });
  }

  #note(entry: AuditEntry): void {
    this.audits = [...(this.audits ?? []), entry];
  }
}

function isOrdinary(kind: AuditKind): boolean {
  return (
    kind === "granted" ||
    kind === "claimed" ||
    kind === "resumed" ||
    kind === "upgraded" ||
    kind === "downgraded" ||
    kind === "released" ||
    kind === "cancelled"
  );
}
