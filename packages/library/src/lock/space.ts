import { lockKey, presenceKey } from "../core/lock/keys.ts";
import { decideForce } from "../core/lock/force.ts";
import type { Actor } from "../core/lock/record.ts";
import { decideReleaseClaim } from "../core/lock/release.ts";
import { decideResume, type ResumeCommand } from "../core/lock/resume.ts";
import { decideAbsence } from "../core/lock/space-records.ts";
import { decideOutlook, type LockOutlook } from "../core/lock/status.ts";
import type { LockStatus } from "../core/lock/views.ts";
import { checkName, checkNote, checkOwner } from "../core/name.ts";
import { parseDuration } from "../core/duration.ts";
import type { DurationMs } from "../core/scalars.ts";
import type { Capabilities } from "../engine/contract.ts";
import {
  InvalidArgumentError,
  LockAbortedError,
  ReadOnlyError,
  SpaceClosedError,
} from "../errors.ts";
import { Acquiring } from "./acquiring.ts";
import {
  checkFlag,
  checkInteger,
  checkKnown,
  checkOneOf,
  checkSignal,
  orDefault,
} from "./argument-checks.ts";
import { Background } from "./background.ts";
import { EngineCalls } from "./engine-calls.ts";
import { eventNames } from "./events.ts";
import { readHistory } from "./history.ts";
import { LeaseHandle, type LeaseTerms } from "./lease-handle.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { listLocks, parseListOptions } from "./list.ts";
import { parseMaxHold, parseRenew, parseRequest } from "./request.ts";
import type {
  AcquireOptions,
  Claim,
  ClaimOptions,
  CloseOptions,
  Explanation,
  ForceOptions,
  ForceResult,
  HistoryEntry,
  HistoryOptions,
  Lease,
  ListOptions,
  ListPage,
  LockEvent,
  ResumeOptions,
  Space,
  SpaceEventName,
  SpaceEvents,
  SweepCounts,
  TryClaimOptions,
  TryOptions,
} from "./space-api.ts";
import type { SpaceContext } from "./space-context.ts";
import { Sweeper } from "./sweeper.ts";
import { runUnder } from "./using.ts";
import { WaitingRoom } from "./waiting-room.ts";
import { watchLocks } from "./watch.ts";
import { explain } from "./why.ts";

const closeGraceMs = 5_000;

/** The lock operations of one process on one namespace; what each does stands in {@link Space}. */
export class LockSpace implements Space {
  readonly #context: SpaceContext;
  readonly #calls: EngineCalls;
  readonly #background: Background;
  readonly #room: WaitingRoom;
  readonly #keeper: LeaseKeeper;
  readonly #sweeper: Sweeper;
  readonly #acquiring: Acquiring;
  readonly #stopping = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(context: SpaceContext) {
    this.#context = context;
    this.#calls = new EngineCalls(context, {
      receive: (grant, sentAtMs) => this.#room.receive(grant, sentAtMs),
      leftOver: (name) => this.#background.advance(name),
      suspended: (gapMs) => this.#keeper.suspended(gapMs),
    });
    this.#background = new Background(context, this.#calls);
    this.#room = new WaitingRoom(context, this.#calls, this.#background);
    this.#keeper = new LeaseKeeper(context, this.#calls);
    this.#acquiring = new Acquiring(this.#room, this.#keeper);
    this.#sweeper = new Sweeper(context, this.#calls, this.#background);
    this.#sweeper.start();
  }

  get namespace(): string {
    return this.#context.scope.namespace;
  }

  get actor(): Actor {
    return this.#context.scope.actor;
  }

  get capabilities(): Capabilities {
    return this.#context.engine.capabilities;
  }

  async acquire(name: string, options: AcquireOptions = {}): Promise<Lease> {
    const request = parseRequest(this.#context.config, "acquire", name, options);
    this.#assertWritable("acquire");
    return this.#acquiring.acquireLease(request);
  }

  async tryAcquire(name: string, options: TryOptions = {}): Promise<Lease | null> {
    const request = parseRequest(this.#context.config, "tryAcquire", name, options);
    this.#assertWritable("tryAcquire");
    return this.#acquiring.tryLease(request);
  }

  async using<Value>(
    name: string,
    options: AcquireOptions,
    work: (lease: Lease, signal: AbortSignal) => Promise<Value> | Value,
  ): Promise<Value> {
    if (typeof work !== "function") {
      throw new InvalidArgumentError("work", work, "must be a function");
    }
    const request = parseRequest(this.#context.config, "acquire", name, options);
    this.#assertWritable("using");
    const lease = await this.#acquiring.acquireLease(request);
    return runUnder(lease, options.signal, work);
  }

  async claim(name: string, owner: string, options: ClaimOptions = {}): Promise<Claim> {
    const request = parseRequest(this.#context.config, "claim", name, options);
    const ownerId = checkOwner("owner", owner);
    this.#assertWritable("claim");
    return this.#acquiring.claim(request, ownerId);
  }

  async tryClaim(name: string, owner: string, options: TryClaimOptions = {}): Promise<boolean> {
    const request = parseRequest(this.#context.config, "tryClaim", name, options);
    const ownerId = checkOwner("owner", owner);
    this.#assertWritable("tryClaim");
    return this.#acquiring.tryClaim(request, ownerId);
  }

  async resume(name: string, owner: string, options: ResumeOptions = {}): Promise<Lease | null> {
    const { scope, entropy } = this.#context;
    checkName("name", name);
    checkOwner("owner", owner);
    checkKnown("options", options, ["ifUnresumed", "renew", "maxHold", "signal"], "resume");
    const ifUnresumed = checkFlag("ifUnresumed", options.ifUnresumed);
    const isRenewed = parseRenew(options.renew);
    const maxHoldMs = parseMaxHold(options.maxHold, 0);
    const signal = checkSignal(options.signal);
    this.#assertWritable("resume");
    if (signal?.aborted === true) throw new LockAbortedError(name, signal.reason);
    const command = { scope, name, owner, id: entropy.id(), ifUnresumed };
    return this.#background.hold(this.#resume(command, { name, isRenewed, maxHoldMs }));
  }

  /** A closing space waits for the call, and releases what was resumed meanwhile (L119). */
  async #resume(command: ResumeCommand, terms: LeaseTerms): Promise<Lease | null> {
    const { scope, name } = command;
    const keys = [lockKey(scope.namespace, name)];
    const deadlineMs = this.#calls.deadlineMs();
    // Bounded by the deadline: a null is no verdict while tickets are left to be settled (L131).
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- each turn goes on where the one before stopped
      const { outcome, sentAtMs } = await this.#calls.untilAnswered(
        keys,
        (snapshot) => decideResume(snapshot, command),
        { deadlineMs },
      );
      if (outcome.result === null && outcome.more) continue;
      if (outcome.result === null) return null;
      const lease = new LeaseHandle(this.#keeper, outcome.result, sentAtMs, terms);
      if (!this.#context.lifetime.isClosed) return lease;
      // oxlint-disable-next-line no-await-in-loop -- the end of the call
      await lease[Symbol.asyncDispose]();
      throw new SpaceClosedError();
    }
  }

  async releaseClaim(name: string, owner: string): Promise<boolean> {
    const { scope } = this.#context;
    checkName("name", name);
    checkOwner("owner", owner);
    this.#assertWritable("releaseClaim");
    const { outcome } = await this.#calls.untilAnswered(
      [lockKey(scope.namespace, name)],
      (snapshot) => decideReleaseClaim(snapshot, { scope, name, owner }),
      { deadlineMs: this.#calls.deadlineMs() },
    );
    return outcome.result;
  }

  async status(name: string, options: { signal?: AbortSignal } = {}): Promise<LockStatus> {
    const { status } = await this.#lookAt(name, options, "status");
    return status;
  }

  async list(options: ListOptions = {}): Promise<ListPage> {
    const known = ["prefix", "state", "owner", "limit", "cursor", "signal"];
    checkKnown("options", options, known, "list");
    const request = parseListOptions(options);
    this.#context.lifetime.assertOpen();
    return listLocks(this.#context, this.#calls, request);
  }

  async why(name: string, options: { signal?: AbortSignal } = {}): Promise<Explanation> {
    return explain(await this.#lookAt(name, options, "why"));
  }

  watch(
    what: string | { readonly prefix: string },
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterable<LockEvent> {
    checkKnown("options", options, ["signal"], "watch");
    const signal = checkSignal(options.signal);
    const prefix = watchedPrefix(what);
    this.#context.lifetime.assertOpen();
    const stops = [this.#stopping.signal, ...(signal === undefined ? [] : [signal])];
    return watchLocks(this.#context, this.#calls, {
      ...prefix,
      signal: AbortSignal.any(stops),
    });
  }

  async forceRelease(name: string, options: ForceOptions): Promise<ForceResult> {
    const { scope } = this.#context;
    checkName("name", name);
    checkKnown("options", options, ["reason", "token", "noDelay"], "forceRelease");
    const reason = checkNote("reason", options.reason, 1);
    const isWithoutDelay = checkFlag("noDelay", options.noDelay);
    const bounds = { least: 1, most: Number.MAX_SAFE_INTEGER };
    const token = options.token === undefined ? null : checkInteger("token", options.token, bounds);
    this.#assertWritable("forceRelease");
    const command = { scope, name, token, reason, isWithoutDelay };
    const { outcome } = await this.#calls.untilAnswered(
      [lockKey(scope.namespace, name)],
      (snapshot) => decideForce(snapshot, command),
      { deadlineMs: this.#calls.deadlineMs() },
    );
    return outcome.result;
  }

  history(options: HistoryOptions = {}): AsyncIterable<HistoryEntry> {
    checkKnown("options", options, ["name", "since", "kinds", "signal"], "history");
    const entries = readHistory(this.#context, options);
    this.#context.lifetime.assertOpen();
    return entries;
  }

  async sweep(options: { budget?: number; signal?: AbortSignal } = {}): Promise<SweepCounts> {
    checkKnown("options", options, ["budget", "signal"], "sweep");
    const most = Number.MAX_SAFE_INTEGER;
    const budget = checkInteger("budget", orDefault(options.budget, most), { least: 1, most });
    const signal = checkSignal(options.signal);
    this.#assertWritable("sweep");
    return this.#sweeper.sweep(budget, signal);
  }

  async raiseFloor(options: { readonly to: number; readonly reason: string }): Promise<number> {
    checkKnown("options", options, ["to", "reason"], "raiseFloor");
    const bounds = { least: 0, most: Number.MAX_SAFE_INTEGER };
    const to = checkInteger("to", options.to, bounds);
    const reason = checkNote("reason", options.reason, 1);
    this.#assertWritable("raiseFloor");
    return this.#sweeper.raiseFloor(to, reason);
  }

  on<Event extends SpaceEventName>(
    event: Event,
    listener: (facts: SpaceEvents[Event]) => void,
  ): () => void {
    checkOneOf("event", event, eventNames);
    if (typeof listener !== "function") {
      throw new InvalidArgumentError("listener", listener, "must be a function");
    }
    return this.#context.events.on(event, listener);
  }

  async close(options: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(...parseClose(options));
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.close();
    } catch (error) {
      this.#context.events.fail(error, "closing the space");
    }
  }

  async #close(graceMs: DurationMs, isTicketKept: boolean): Promise<void> {
    const { lifetime, timers, engine, clock } = this.#context;
    lifetime.close();
    this.#stopping.abort();
    this.#sweeper.close();
    const hadPresence = this.#room.hasPresence;
    this.#room.close(isTicketKept);
    const leases = this.#keeper.leases;
    for (const lease of leases) lease.closeWithSpace();
    this.#keeper.close();
    const endMs = clock.monotonicMs() + graceMs;
    await beforeMs(clock, graceMs, this.#windDown(leases, hadPresence && !isTicketKept));
    this.#calls.close();
    timers.close();
    await beforeMs(clock, Math.max(0, endMs - clock.monotonicMs()), engine.close());
  }

  /** Releases what is held, lets the background cancels end, and deletes the presence. */
  async #windDown(leases: readonly AsyncDisposable[], hasPresence: boolean): Promise<void> {
    const { scope, events } = this.#context;
    await Promise.all(leases.map((lease) => lease[Symbol.asyncDispose]()));
    await this.#background.settled();
    if (!hasPresence) return;
    const keys = [presenceKey(scope.namespace, scope.presence)];
    const deadlineMs = this.#calls.deadlineMs();
    await this.#calls
      .plain(keys, (snapshot) => decideAbsence(snapshot, scope), { deadlineMs })
      .catch((error: unknown) => events.fail(error, "deleting the presence"));
  }

  async #lookAt(
    name: string,
    options: { signal?: AbortSignal },
    call: string,
  ): Promise<LockOutlook> {
    const { namespace, clockErrorMs } = this.#context.scope;
    checkName("name", name);
    const bounds = this.#readBounds(options, call);
    const command = { namespace, name, clockErrorMs };
    const { outcome, sentAtMs } = await this.#calls.plain(
      [lockKey(namespace, name)],
      (snapshot) => decideOutlook(snapshot, command),
      bounds,
    );
    this.#calls.noteTime(outcome.status.now, sentAtMs);
    return outcome;
  }

  #readBounds(options: { signal?: AbortSignal }, call: string) {
    checkKnown("options", options, ["signal"], call);
    const signal = checkSignal(options.signal);
    this.#context.lifetime.assertOpen();
    signal?.throwIfAborted();
    return { deadlineMs: this.#calls.deadlineMs(), signal };
  }

  #assertWritable(operation: string): void {
    this.#context.lifetime.assertOpen();
    if (this.#context.config.isReadOnly) throw new ReadOnlyError(operation);
  }
}

function parseClose(options: CloseOptions): readonly [DurationMs, boolean] {
  checkKnown("options", options, ["grace", "keepTickets"], "close");
  const { grace, keepTickets } = options;
  const graceMs = grace === undefined ? closeGraceMs : parseDuration("grace", grace);
  if (graceMs < 0) throw new InvalidArgumentError("grace", grace, "must not be negative");
  return [graceMs, checkFlag("keepTickets", keepTickets)];
}

function watchedPrefix(what: unknown): { readonly name: string | null; readonly prefix: string } {
  if (typeof what === "string") return { name: checkName("name", what), prefix: what };
  checkKnown("what", what, ["prefix"], "watch");
  const { prefix } = what as { readonly prefix?: unknown };
  if (typeof prefix !== "string" || !prefix.isWellFormed()) {
    throw new InvalidArgumentError("prefix", prefix, "must be a well-formed string");
  }
  return { name: null, prefix };
}

/** Waits for the work, `ms` at most; nothing is left to keep the process alive after it (L120). */
async function beforeMs(
  clock: SpaceContext["clock"],
  ms: number,
  work: Promise<void>,
): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = clock.timer(ms, resolve);
  timer.setReferenced(true);
  try {
    await Promise.race([work, over]);
  } finally {
    timer.cancel();
  }
}
