import { lockKey } from "../core/lock/keys.ts";
import { decideOutlook, type LockOutlook } from "../core/lock/status.ts";
import type { LockScope } from "../core/lock/scope.ts";
import type { LockStatus } from "../core/lock/views.ts";
import { checkName } from "../core/name.ts";
import { InvalidArgumentError } from "../errors.ts";
import { checkKnown, checkSignal } from "./argument-checks.ts";
import { abortable, type EngineCalls } from "./engine-calls.ts";
import { readHistory } from "./history.ts";
import { listLocks, parseListOptions } from "./list.ts";
import type {
  Explanation,
  HistoryEntry,
  HistoryOptions,
  ListOptions,
  ListPage,
  LockEvent,
} from "./views-api.ts";
import type { SpaceContext } from "./space-context.ts";
import { watchLocks } from "./watch.ts";
import { explain } from "./why.ts";

interface SignalOption {
  readonly signal?: AbortSignal | undefined;
}

/** What a space shows of its locks. Nothing in here writes, grants, reclaims or mints (L107). */
export class LockViews {
  readonly #context: SpaceContext;
  readonly #calls: EngineCalls;
  readonly #stopping = new AbortController();

  readonly #scope: LockScope;

  constructor(context: SpaceContext, calls: EngineCalls, scope: LockScope = context.scope) {
    this.#context = context;
    this.#calls = calls;
    this.#scope = scope;
  }

  /** Ends every watch. */
  close(): void {
    this.#stopping.abort();
  }

  async status(name: string, options: SignalOption): Promise<LockStatus> {
    const { status } = await this.#lookAt(name, options, "status");
    return status;
  }

  async why(name: string, options: SignalOption): Promise<Explanation> {
    return explain(await this.#lookAt(name, options, "why"));
  }

  async list(options: ListOptions): Promise<ListPage> {
    const known = ["prefix", "state", "owner", "limit", "cursor", "signal"];
    checkKnown("options", options, known, "list");
    const request = parseListOptions(options);
    this.#context.lifetime.assertOpen();
    return listLocks(this.#context, this.#calls, request);
  }

  watch(
    what: string | { readonly prefix: string },
    options: SignalOption,
  ): AsyncIterable<LockEvent> {
    checkKnown("options", options, ["signal"], "watch");
    const signal = checkSignal(options.signal);
    const target = watchedPrefix(what);
    this.#context.lifetime.assertOpen();
    const stops = [this.#stopping.signal, ...(signal === undefined ? [] : [signal])];
    const { part = "lock" } = this.#scope;
    const stop = AbortSignal.any(stops);
    return watchLocks(this.#context, this.#calls, { ...target, part, signal: stop });
  }

  history(options: HistoryOptions): AsyncIterable<HistoryEntry> {
    checkKnown("options", options, ["name", "since", "kinds", "signal"], "history");
    const entries = readHistory(this.#scope, this.#calls, options);
    this.#context.lifetime.assertOpen();
    return entries;
  }

  async #lookAt(name: string, options: SignalOption, call: string): Promise<LockOutlook> {
    const { namespace, clockErrorMs, part } = this.#scope;
    checkName("name", name);
    checkKnown("options", options, ["signal"], call);
    const signal = checkSignal(options.signal);
    this.#context.lifetime.assertOpen();
    const command = { namespace, name, clockErrorMs, part };
    const bounds = { deadlineMs: this.#calls.deadlineMs(), signal };
    const { outcome, sentAtMs } = await abortable(name, signal, () =>
      this.#calls.plain(
        [lockKey(namespace, name, part)],
        (snapshot) => decideOutlook(snapshot, command),
        bounds,
      ),
    );
    this.#calls.noteTime(outcome.status.now, sentAtMs);
    return outcome;
  }
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
