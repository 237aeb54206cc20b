import type { Decision, Snapshot } from "../core/decision.ts";
import type { RecordKey } from "../core/key.ts";
import type { AcquireCommand } from "../core/lock/acquire-command.ts";
import { decideAcquire } from "../core/lock/acquire.ts";
import type { GrantFacts } from "../core/lock/facts.ts";
import { lockKey } from "../core/lock/keys.ts";
import type { TicketRef } from "../core/lock/look.ts";
import type { Outcome } from "../core/lock/outcome.ts";
import type { LockScope } from "../core/lock/scope.ts";
import type { MonotonicMs } from "../core/scalars.ts";
import type { Background } from "./background.ts";
import { deadlineOf } from "./lease-state.ts";
import type { LockRequest } from "./request.ts";
import type { SpaceContext } from "./space-context.ts";
import type { AskResult, Attempted, KnownTicket, Wish } from "./wish.ts";

/** The wish for one lock, for several at once, or for places of a semaphore. */
export class LockWish implements Wish {
  readonly name: string;
  readonly scope: LockScope;
  readonly keys: readonly RecordKey[];
  readonly names: readonly string[];
  readonly #context: SpaceContext;
  readonly #background: Background;
  readonly #request: LockRequest;
  readonly #owner: string;

  constructor(
    { context, background }: { readonly context: SpaceContext; readonly background: Background },
    request: LockRequest,
    owner: string,
  ) {
    this.#context = context;
    this.#background = background;
    this.#request = request;
    this.#owner = owner;
    this.name = request.name;
    this.scope = request.part === "semaphore" ? context.semaphoreScope : context.scope;
    const { namespace, part } = this.scope;
    this.names = request.items.map(({ name }) => name);
    this.keys = this.names.map((name) => lockKey(namespace, name, part));
  }

  get limit(): number {
    return this.#request.limit;
  }

  command({ id, isRepeat, waitMs }: Attempted): AcquireCommand {
    const { items, kind, note, value, leaseMs, lockDelayMs, permits, limit } = this.#request;
    const [{ name, mode }] = items;
    const isOfSemaphore = this.#request.part === "semaphore";
    // Member by member, in one shape: this runs once in every acquiring call.
    return {
      scope: this.scope,
      name,
      mode,
      also: items.length === 1 ? undefined : items.slice(1),
      id,
      kind,
      owner: this.#owner,
      note,
      value,
      leaseMs,
      lockDelayMs,
      waitMs,
      isRepeat,
      permits: isOfSemaphore ? permits : undefined,
      limit: isOfSemaphore ? limit : undefined,
    };
  }

  ask(attempt: Attempted): (snapshot: Snapshot) => Decision<Outcome<AskResult>> {
    const command = this.command(attempt);
    return (snapshot) => decideAcquire(snapshot, command);
  }

  ticketOn(name: string, id: string, number: number): TicketRef {
    const { items } = this.#request;
    const { mode } = items.find((item) => item.name === name) ?? items[0];
    return this.names.length === 1 ? { id, number, mode } : { id, number, mode, names: this.names };
  }

  cancel({ id, number }: KnownTicket): void {
    const { names, scope } = this;
    const { leaseMs } = this.#request;
    this.#background.cancel({ scope, names, id, number, leaseMs });
  }

  isOverdue(grant: GrantFacts, sentAtMs: MonotonicMs): boolean {
    return isOverdue(this.#context, grant, sentAtMs);
  }
}

/** Whether a lease is over for its holder before the holder has heard of it. A claim has none. */
export function isOverdue(
  { clock, scope }: SpaceContext,
  { kind, leaseMs }: GrantFacts,
  sentAtMs: MonotonicMs,
): boolean {
  if (kind === "claim") return false;
  return clock.monotonicMs() >= deadlineOf(sentAtMs, leaseMs, scope.clockErrorMs);
}
