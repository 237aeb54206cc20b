import { presenceKey } from "../core/lock/keys.ts";
import type { Actor } from "../core/lock/record.ts";
import { decideAbsence } from "../core/lock/space-records.ts";
import type { LockStatus } from "../core/lock/views.ts";
import { checkOwner } from "../core/name.ts";
import { parseDuration } from "../core/duration.ts";
import type { DurationMs } from "../core/scalars.ts";
import type { Capabilities } from "../engine/contract.ts";
import { InvalidArgumentError } from "../errors.ts";
import { Acquiring } from "./acquiring.ts";
import { checkFlag, checkKnown, checkOneOf } from "./argument-checks.ts";
import { Background } from "./background.ts";
import { ElectionHandle } from "./election.ts";
import { SemaphoreHandle } from "./semaphore.ts";
import { Claims } from "./claims.ts";
import { EngineCalls } from "./engine-calls.ts";
import { eventNames } from "./events.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { LockAdmin } from "./lock-admin.ts";
import { LockViews } from "./lock-views.ts";
import { parseBatch, parseRequest } from "./request.ts";
import type {
  AcquireOptions,
  AttachOptions,
  BatchOptions,
  Claim,
  ClaimOptions,
  LockRequestItem,
  ResumeOptions,
  TryClaimOptions,
  TryOptions,
  TryBatchOptions,
} from "./request-api.ts";
import type { CloseOptions, Space, SweepCounts } from "./space-api.ts";
import type {
  Explanation,
  ForceOptions,
  ForceResult,
  HistoryEntry,
  HistoryOptions,
  ListOptions,
  ListPage,
  LockEvent,
} from "./views-api.ts";
import type { Lease, PortableLease } from "./lease-api.ts";
import type { Election } from "./election-api.ts";
import type { Semaphore } from "./semaphore-api.ts";
import type { SpaceEventName, SpaceEvents } from "./events-api.ts";
import type { SpaceContext } from "./space-context.ts";
import { Sweeper } from "./sweeper.ts";
import { checkWork, runUnder } from "./using.ts";
import { WaitingRoom } from "./waiting-room.ts";

const closeGraceMs = 5_000;

type Requests = readonly (string | LockRequestItem)[];
type Work<Value> = (lease: Lease, signal: AbortSignal) => Promise<Value> | Value;

/** The lock operations of one process on one namespace; what each does stands in {@link Space}. */
export class LockSpace implements Space {
  readonly #context: SpaceContext;
  readonly #calls: EngineCalls;
  readonly #background: Background;
  readonly #room: WaitingRoom;
  readonly #keeper: LeaseKeeper;
  readonly #sweeper: Sweeper;
  readonly #acquiring: Acquiring;
  readonly #claims: Claims;
  readonly #views: LockViews;
  readonly #admin: LockAdmin;
  #closing: Promise<void> | undefined;

  constructor(context: SpaceContext) {
    this.#context = context;
    this.#calls = new EngineCalls(context, {
      receive: (grant, sentAtMs) => this.#room.receive(grant, sentAtMs),
      leftOver: (left) => this.#background.advance(left),
      suspended: (gapMs) => this.#keeper.suspended(gapMs),
    });
    this.#background = new Background(context, this.#calls);
    this.#room = new WaitingRoom(context, this.#calls, this.#background);
    this.#keeper = new LeaseKeeper(this.#room);
    this.#acquiring = new Acquiring(this.#room, this.#keeper);
    this.#sweeper = new Sweeper(context, this.#calls, this.#background);
    this.#claims = new Claims(this.#keeper, this.#background);
    this.#views = new LockViews(context, this.#calls);
    this.#admin = new LockAdmin(context, this.#calls, this.#sweeper);
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
    this.#context.lifetime.assertWritable("acquire");
    return this.#acquiring.acquireLease(request);
  }

  async tryAcquire(name: string, options: TryOptions = {}): Promise<Lease | null> {
    const request = parseRequest(this.#context.config, "tryAcquire", name, options);
    this.#context.lifetime.assertWritable("tryAcquire");
    return this.#acquiring.tryLease(request);
  }

  async acquireAll(requests: Requests, options: BatchOptions = {}): Promise<Lease> {
    const request = parseBatch(this.#context.config, "acquireAll", requests, options);
    this.#context.lifetime.assertWritable("acquireAll");
    return this.#acquiring.acquireLease(request);
  }

  async tryAcquireAll(requests: Requests, options: TryBatchOptions = {}): Promise<Lease | null> {
    const request = parseBatch(this.#context.config, "tryAcquireAll", requests, options);
    this.#context.lifetime.assertWritable("tryAcquireAll");
    return this.#acquiring.tryLease(request);
  }

  async usingAll<Value>(
    requests: Requests,
    options: BatchOptions,
    work: Work<Value>,
  ): Promise<Value> {
    checkWork(work);
    const request = parseBatch(this.#context.config, "acquireAll", requests, options);
    this.#context.lifetime.assertWritable("usingAll");
    return runUnder(await this.#acquiring.acquireLease(request), request.signal, work);
  }

  async using<Value>(name: string, options: AcquireOptions, work: Work<Value>): Promise<Value> {
    checkWork(work);
    const request = parseRequest(this.#context.config, "acquire", name, options);
    this.#context.lifetime.assertWritable("using");
    return runUnder(await this.#acquiring.acquireLease(request), request.signal, work);
  }

  semaphore(name: string, options: { readonly limit: number }): Semaphore {
    const host = { context: this.#context, calls: this.#calls };
    const parts = { acquiring: this.#acquiring, admin: this.#admin };
    return new SemaphoreHandle({ ...host, ...parts }, name, options);
  }

  election(name: string): Election {
    const host = { keeper: this.#keeper, acquiring: this.#acquiring, views: this.#views };
    return new ElectionHandle(host, name);
  }

  async claim(name: string, owner: string, options: ClaimOptions = {}): Promise<Claim> {
    const request = parseRequest(this.#context.config, "claim", name, options);
    const ownerId = checkOwner("owner", owner);
    this.#context.lifetime.assertWritable("claim");
    return this.#acquiring.claim(request, ownerId);
  }

  async tryClaim(name: string, owner: string, options: TryClaimOptions = {}): Promise<boolean> {
    const request = parseRequest(this.#context.config, "tryClaim", name, options);
    const ownerId = checkOwner("owner", owner);
    this.#context.lifetime.assertWritable("tryClaim");
    return this.#acquiring.tryClaim(request, ownerId);
  }

  async resume(name: string, owner: string, options: ResumeOptions = {}): Promise<Lease | null> {
    return this.#claims.resume(name, owner, options);
  }

  async attach(portable: PortableLease, options: AttachOptions = {}): Promise<Lease | null> {
    return this.#claims.attach(portable, options);
  }

  async releaseClaim(name: string, owner: string): Promise<boolean> {
    return this.#claims.release(name, owner);
  }

  async status(name: string, options: { signal?: AbortSignal } = {}): Promise<LockStatus> {
    return this.#views.status(name, options);
  }

  async list(options: ListOptions = {}): Promise<ListPage> {
    return this.#views.list(options);
  }

  async why(name: string, options: { signal?: AbortSignal } = {}): Promise<Explanation> {
    return this.#views.why(name, options);
  }

  watch(
    what: string | { readonly prefix: string },
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterable<LockEvent> {
    return this.#views.watch(what, options);
  }

  history(options: HistoryOptions = {}): AsyncIterable<HistoryEntry> {
    return this.#views.history(options);
  }

  async forceRelease(name: string, options: ForceOptions): Promise<ForceResult> {
    return this.#admin.forceRelease(name, options);
  }

  async sweep(options: { budget?: number; signal?: AbortSignal } = {}): Promise<SweepCounts> {
    return this.#admin.sweep(options);
  }

  async raiseFloor(options: { readonly to: number; readonly reason: string }): Promise<number> {
    return this.#admin.raiseFloor(options);
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
    this.#views.close();
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
}

function parseClose(options: CloseOptions): readonly [DurationMs, boolean] {
  checkKnown("options", options, ["grace", "keepTickets"], "close");
  const { grace, keepTickets } = options;
  const graceMs = grace === undefined ? closeGraceMs : parseDuration("grace", grace);
  if (graceMs < 0) throw new InvalidArgumentError("grace", grace, "must not be negative");
  return [graceMs, checkFlag("keepTickets", keepTickets)];
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
