import { decideResize } from "../core/lock/resize.ts";
import { lockKey } from "../core/lock/keys.ts";
import type { LockStatus } from "../core/lock/views.ts";
import { checkName, checkNote } from "../core/name.ts";
import type { Acquiring } from "./acquiring.ts";
import { checkInteger, checkKnown } from "./argument-checks.ts";
import type { EngineCalls } from "./engine-calls.ts";
import type { LockAdmin } from "./lock-admin.ts";
import { LockViews } from "./lock-views.ts";
import { limitMost, parsePermits } from "./request.ts";
import type {
  Explanation,
  ForceOptions,
  ForceResult,
  HistoryEntry,
  HistoryOptions,
  LockEvent,
} from "./views-api.ts";
import type { Lease } from "./lease-api.ts";
import type { PermitOptions, Semaphore, TryPermitOptions } from "./semaphore-api.ts";
import type { SpaceContext } from "./space-context.ts";
import { checkWork, runUnder } from "./using.ts";

/** What a semaphore needs of its space. */
export interface SemaphoreHost {
  readonly context: SpaceContext;
  readonly calls: EngineCalls;
  readonly acquiring: Acquiring;
  readonly admin: LockAdmin;
}

/** The semaphore of one name with a limit that the caller knows; see {@link Semaphore}. */
export class SemaphoreHandle implements Semaphore {
  readonly name: string;
  readonly limit: number;
  readonly #host: SemaphoreHost;
  readonly #views: LockViews;

  constructor(host: SemaphoreHost, name: unknown, options: { readonly limit: number }) {
    this.#host = host;
    this.name = checkName("name", name);
    checkKnown("options", options, ["limit"], "semaphore");
    this.limit = checkInteger("limit", options.limit, { least: 1, most: limitMost });
    const { context, calls } = host;
    context.lifetime.assertOpen();
    this.#views = new LockViews(context, calls, context.semaphoreScope);
  }

  async acquire(options: PermitOptions = {}): Promise<Lease> {
    const request = parsePermits(this.#host.context.config, "acquire", this, options);
    this.#host.context.lifetime.assertWritable("acquire");
    return this.#host.acquiring.acquireLease(request);
  }

  async tryAcquire(options: TryPermitOptions = {}): Promise<Lease | null> {
    const request = parsePermits(this.#host.context.config, "tryAcquire", this, options);
    this.#host.context.lifetime.assertWritable("tryAcquire");
    return this.#host.acquiring.tryLease(request);
  }

  async using<Value>(
    options: PermitOptions,
    work: (lease: Lease, signal: AbortSignal) => Promise<Value> | Value,
  ): Promise<Value> {
    checkWork(work);
    const request = parsePermits(this.#host.context.config, "acquire", this, options);
    this.#host.context.lifetime.assertWritable("using");
    return runUnder(await this.#host.acquiring.acquireLease(request), request.signal, work);
  }

  async resize(limit: number, options: { readonly reason: string }): Promise<Semaphore> {
    const { context, calls } = this.#host;
    const scope = context.semaphoreScope;
    const to = checkInteger("limit", limit, { least: 1, most: limitMost });
    checkKnown("options", options, ["reason"], "resize");
    const reason = checkNote("reason", options.reason, 1);
    context.lifetime.assertWritable("resize");
    await calls.untilAnswered(
      [lockKey(scope.namespace, this.name, scope.part)],
      (snapshot) => decideResize(snapshot, { scope, name: this.name, limit: to, reason }),
      { deadlineMs: calls.deadlineMs() },
    );
    return new SemaphoreHandle(this.#host, this.name, { limit: to });
  }

  async status(options: { readonly signal?: AbortSignal } = {}): Promise<LockStatus> {
    return this.#views.status(this.name, options);
  }

  async why(options: { readonly signal?: AbortSignal } = {}): Promise<Explanation> {
    return this.#views.why(this.name, options);
  }

  watch(options: { readonly signal?: AbortSignal } = {}): AsyncIterable<LockEvent> {
    return this.#views.watch(this.name, options);
  }

  history(options: Omit<HistoryOptions, "name"> = {}): AsyncIterable<HistoryEntry> {
    return this.#views.history({ ...options, name: this.name });
  }

  async forceRelease(options: ForceOptions): Promise<ForceResult> {
    const { admin, context } = this.#host;
    return admin.forceRelease(this.name, options, context.semaphoreScope);
  }
}
