import type { FenceMode } from "./core/fence/entry.ts";
import type { Denial, HolderView } from "./core/lock/views.ts";

/** What a caller can do about an error: try later, change something first, or nothing. */
export type Retry = "later" | "change" | "never";

const mark = Symbol.for("leasehold.error");

interface ErrorFacts {
  readonly code: string;
  readonly retry: Retry;
  readonly status: number;
}

/**
 * The base of every error that the library raises.
 *
 * `code` is stable and is what programs compare; `message` is for people. `instanceof` works across
 * two copies of the package, because it looks for a mark instead of a prototype.
 */
export class LeaseholdError extends Error {
  readonly code: string;
  readonly retry: Retry;
  /** The status with which a server answers for this error. */
  readonly status: number;

  constructor(facts: ErrorFacts, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = facts.code;
    this.retry = facts.retry;
    this.status = facts.status;
    this.name = new.target.name;
    Object.defineProperty(this, mark, { value: new.target.name });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
    if (typeof value !== "object" || value === null || !(mark in value)) return false;
    return this === LeaseholdError || (value as Record<symbol, unknown>)[mark] === this.name;
  }

  /** The error as problem+json (RFC 9457), with its own facts beside the standard members. */
  toJSON(): Record<string, unknown> {
    const { message, status, code, retry } = this;
    // What the caller's own code returned is its own, and stays out of what is sent and logged.
    const own = this as this & { readonly result?: unknown };
    const { name: _name, cause: _cause, stack: _stack, result: _result, ...facts } = own;
    return { ...facts, type: `urn:leasehold:${code}`, title: message, status, code, retry };
  }
}

/** A value that no call accepts. Raised before anything is sent (L6). */
export class InvalidArgumentError extends LeaseholdError {
  readonly parameter: string;
  readonly value: string;
  readonly position: number | undefined;
  readonly limit: number | undefined;

  constructor(
    parameter: string,
    value: unknown,
    rule: string,
    more: { code?: "BATCH_TOO_LARGE"; position?: number; limit?: number } = {},
  ) {
    const shown = showValue(value);
    const where = more.position === undefined ? "" : ` at position ${more.position}`;
    super(
      { code: more.code ?? "INVALID_ARGUMENT", retry: "change", status: 400 },
      `${parameter}${where} ${rule}; got ${shown}`,
    );
    this.parameter = parameter;
    this.value = shown;
    this.position = more.position;
    this.limit = more.limit;
  }
}

/** The lock was not granted within `wait`. `denial` says who holds it and since when (L28). */
export class LockWaitTimeoutError extends LeaseholdError {
  readonly denial: Denial;
  readonly waitedMs: number;

  constructor(denial: Denial, waitedMs: number) {
    super(
      { code: "LOCK_WAIT_TIMEOUT", retry: "later", status: 409 },
      `lock ${showName(denial.name)} was not granted within ${waitedMs} ms: ${showDenial(denial)}`,
    );
    this.denial = denial;
    this.waitedMs = waitedMs;
  }
}

/** The caller's signal fired while it waited; `cause` is the signal's reason (L30). */
export class LockAbortedError extends LeaseholdError {
  /** The lock that the call was about; null for a call about many, such as a listing. */
  readonly lock: string | null;

  constructor(lock: string | null, reason: unknown) {
    super(
      { code: "LOCK_ABORTED", retry: "never", status: 499 },
      lock === null ? "the call was aborted" : `the call on lock ${showName(lock)} was aborted`,
      reason,
    );
    this.lock = lock;
  }
}

/** The queue of the lock is full (L34). */
export class QueueFullError extends LeaseholdError {
  readonly lock: string;
  readonly depth: number;
  readonly limit: number;

  constructor(lock: string, depth: number, limit: number) {
    super(
      { code: "QUEUE_FULL", retry: "later", status: 503 },
      `the queue of lock ${showName(lock)} is full: ${depth} tickets wait, the limit is ${limit}`,
    );
    this.lock = lock;
    this.depth = depth;
    this.limit = limit;
  }
}

/** How a lease came to its end, as far as its holder is told. */
export type LossReason =
  | "expired"
  | "superseded"
  | "forced"
  | "withdrawn"
  | "missing"
  | "max-hold"
  | "closed"
  | "released";

export interface LossFacts {
  readonly lock: string;
  readonly token: number;
  readonly reason: LossReason;
  /** Who ended it, for a forced or superseded end: an owner id or an actor in one line. */
  readonly by?: string | undefined;
  /** Why, in the words of the one who forced it. */
  readonly why?: string | undefined;
  /** What the body of `using` returned although its lease was lost under it (L52). */
  readonly result?: unknown;
}

/** The lease is over; whatever it guarded may be another's by now. */
export class LeaseLostError extends LeaseholdError {
  readonly lock: string;
  readonly token: number;
  readonly reason: LossReason;
  readonly by: string | undefined;
  readonly why: string | undefined;
  readonly result: unknown;

  constructor(facts: LossFacts) {
    const who = facts.by === undefined ? "" : ` by ${facts.by}`;
    const why = facts.why === undefined ? "" : `: ${facts.why}`;
    super(
      { code: "LEASE_LOST", retry: "change", status: 410 },
      `the lease of lock ${showName(facts.lock)} with token ${facts.token} is over ` +
        `(${facts.reason}${who}${why})`,
    );
    this.lock = facts.lock;
    this.token = facts.token;
    this.reason = facts.reason;
    this.by = facts.by;
    this.why = facts.why;
    this.result = facts.result;
  }
}

/**
 * The host seems to have slept: the lease is neither held nor lost until the engine answers (L60).
 */
export class LeaseUnverifiedError extends LeaseholdError {
  readonly lock: string;
  readonly token: number;
  readonly gapMs: number;

  constructor(lock: string, token: number, gapMs: number) {
    super(
      { code: "LEASE_UNVERIFIED", retry: "later", status: 503 },
      `the lease of lock ${showName(lock)} cannot be vouched for: ` +
        `the calendar moved ${gapMs} ms further than the monotonic clock`,
    );
    this.lock = lock;
    this.token = token;
    this.gapMs = gapMs;
  }
}

/** Why a resource refuses a holder: the token that was shown, and the marks it fell behind. */
export interface StaleFenceFacts {
  readonly lock: string;
  readonly mode: FenceMode;
  readonly token: number;
  /** Highest accepted exclusive token; for permits also that of the slots that were shown. */
  readonly markX: number;
  /** Highest accepted shared token. */
  readonly markS: number;
}

/** A guarded resource has accepted a newer holder; nothing was written (L67, L70). */
export class StaleFenceError extends LeaseholdError {
  readonly lock: string;
  readonly mode: FenceMode;
  readonly token: number;
  readonly markX: number;
  readonly markS: number;

  constructor(facts: StaleFenceFacts) {
    const { lock, mode, token, markX, markS } = facts;
    super(
      { code: "STALE_FENCE", retry: "change", status: 412 },
      `the ${mode} holder of lock ${showName(lock)} with token ${token} comes too late: the ` +
        `resource has accepted tokens up to ${markX} (exclusive) and ${markS} (shared); ` +
        "acquire the lock anew",
    );
    this.lock = lock;
    this.mode = mode;
    this.token = token;
    this.markX = markX;
    this.markS = markS;
  }
}

/** The marks of a lease could not be raised at the resource; `cause` says why. */
export class FenceInstallError extends LeaseholdError {
  readonly lock: string;
  readonly token: number;

  constructor(lock: string, token: number, cause: unknown) {
    const why = cause instanceof Error ? `: ${cause.message}` : "";
    super(
      { code: "FENCE_INSTALL_FAILED", retry: "later", status: 502 },
      `the fence of lock ${showName(lock)} with token ${token} was not installed${why}`,
      cause,
    );
    this.lock = lock;
    this.token = token;
  }
}

/** The lock has used every token there is (L62). */
export class TokenOverflowError extends LeaseholdError {
  readonly lock: string;
  readonly counter: number;

  constructor(lock: string, counter: number) {
    super(
      { code: "TOKEN_OVERFLOW", retry: "never", status: 500 },
      `lock ${showName(lock)} cannot mint a token above ${counter}`,
    );
    this.lock = lock;
    this.counter = counter;
  }
}

/** Another holder waits to become exclusive already; this one keeps its shared lease (L75). */
export class UpgradeConflictError extends LeaseholdError {
  readonly lock: string;
  /** The holder that waits. */
  readonly other: HolderView;

  constructor(lock: string, other: HolderView) {
    super(
      { code: "UPGRADE_CONFLICT", retry: "change", status: 409 },
      `lock ${showName(lock)} is about to be upgraded by ${other.owner} with token ${other.token}`,
    );
    this.lock = lock;
    this.other = other;
  }
}

/** A semaphore is in use with another limit than the one asked for (L105, L106). */
export class LimitMismatchError extends LeaseholdError {
  readonly lock: string;
  readonly recorded: number;
  readonly asked: number;

  constructor(lock: string, recorded: number, asked: number) {
    super(
      { code: "LIMIT_MISMATCH", retry: "change", status: 409 },
      `semaphore ${showName(lock)} has a limit of ${recorded}, not of ${asked}`,
    );
    this.lock = lock;
    this.recorded = recorded;
    this.asked = asked;
  }
}

/** The store did not answer, or refused. `outcome` tells whether something may have been stored. */
export class EngineUnavailableError extends LeaseholdError {
  readonly engine: string;
  readonly outcome: "none" | "unknown";
  /** Whether the same call may succeed after a while without anybody's doing; else `retry` says
   *  `change`. */
  readonly isTransient: boolean;

  constructor(
    engine: string,
    what: string,
    facts: { outcome: "none" | "unknown"; isTransient: boolean; cause?: unknown },
  ) {
    const stored =
      facts.outcome === "none" ? "nothing was stored" : "whether it was stored is not known";
    super(
      { code: "ENGINE_UNAVAILABLE", retry: facts.isTransient ? "later" : "change", status: 503 },
      `the ${engine} engine is unavailable: ${what}; ${stored}`,
      facts.cause,
    );
    this.engine = engine;
    this.outcome = facts.outcome;
    this.isTransient = facts.isTransient;
  }
}

/** A stored record cannot be understood; it is left as it is (L118). */
export class RecordCorruptError extends LeaseholdError {
  readonly key: string;
  readonly problem: string;

  constructor(key: string, problem: string) {
    super(
      { code: "RECORD_CORRUPT", retry: "never", status: 500 },
      `the record ${key} cannot be read: ${problem}`,
    );
    this.key = key;
    this.problem = problem;
  }
}

/** The space was opened read-only (L124). */
export class ReadOnlyError extends LeaseholdError {
  constructor(operation: string) {
    super(
      { code: "READ_ONLY", retry: "never", status: 403 },
      `${operation} writes, and this space was opened read-only`,
    );
  }
}

/** The space is closed, or was closed while the call waited (L119). */
export class SpaceClosedError extends LeaseholdError {
  constructor(what = "the space") {
    super({ code: "SPACE_CLOSED", retry: "never", status: 503 }, `${what} is closed`);
  }
}

function showValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(clip(value, 80));
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

function showName(name: string): string {
  return JSON.stringify(clip(name, 200));
}

function clip(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`;
}

/** The last instant that a `Date` can stand for, in ms. */
const instantMost = 8.64e15;

/** An instant of engine time for people; a damaged one must not throw while an error is made. */
export function showInstant(instant: number): string {
  const isDate = Number.isFinite(instant) && Math.abs(instant) <= instantMost;
  return isDate ? new Date(instant).toISOString() : `${instant} ms`;
}

function showDenial(denial: Denial): string {
  const [holder] = denial.holders;
  const queue = denial.position === null ? "" : `, ${denial.position} before it in the queue`;
  if (holder === undefined) return `${denial.depth} tickets wait for it${queue}`;
  const until = denial.until === null ? "" : ` until ${showInstant(denial.until)}`;
  const since = showInstant(holder.since);
  return `held by ${holder.owner} with token ${holder.token} since ${since}${until}${queue}`;
}
