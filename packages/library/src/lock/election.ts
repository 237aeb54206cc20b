import { lockKey } from "../core/lock/keys.ts";
import { decideProclaim } from "../core/lock/proclaim.ts";
import type { HolderView } from "../core/lock/views.ts";
import { checkName } from "../core/name.ts";
import type { Json } from "../core/scalars.ts";
import type { Acquiring } from "./acquiring.ts";
import { checkJson } from "./argument-checks.ts";
import { handLease } from "./hand-lease.ts";
import type { LeaseHost } from "./lease-host.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import { LeaseHandle } from "./lease-handle.ts";
import type { LockViews } from "./lock-views.ts";
import { parseCampaign } from "./request.ts";
import type { CampaignOptions, Election, Leader, Leadership } from "./election-api.ts";

/** Most bytes of a proclaimed value (section 3). */
const valueBytesMax = 4_096;

/** What an election needs of its space. */
export interface ElectionHost {
  readonly keeper: LeaseKeeper;
  readonly acquiring: Acquiring;
  readonly views: LockViews;
}

/** The election of the leader of one name; see {@link Election}. */
export class ElectionHandle implements Election {
  readonly name: string;
  readonly #host: ElectionHost;

  constructor(host: ElectionHost, name: unknown) {
    this.#host = host;
    this.name = checkName("name", name);
    host.keeper.context.lifetime.assertOpen();
  }

  async campaign(value: Json = null, options: CampaignOptions = {}): Promise<Leadership> {
    const { keeper, acquiring } = this.#host;
    const checked = checkJson("value", value, valueBytesMax);
    const request = parseCampaign(keeper.config, this.name, checked, options);
    keeper.context.lifetime.assertWritable("campaign");
    const granted = await acquiring.acquireGrant(request);
    return handLease(keeper, granted, request, LeadershipHandle);
  }

  async leader(options: { readonly signal?: AbortSignal } = {}): Promise<Leader | null> {
    const { holders } = await this.#host.views.status(this.name, options);
    return leaderOf(holders);
  }

  async *observe(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<Leader | null> {
    let told: string | undefined;
    let highest = 0;
    for await (const { holders } of this.#host.views.watch(this.name, options)) {
      const leader = leaderOf(holders);
      const text = JSON.stringify(leader);
      // Never back to a lower token, whatever a store that went back in time may say (L103).
      if (text === told || (leader !== null && leader.token < highest)) continue;
      told = text;
      highest = leader?.token ?? highest;
      yield leader;
    }
  }
}

/** The live exclusive holder, as others see it. */
function leaderOf(holders: readonly HolderView[]): Leader | null {
  const holder = holders.find(({ state, mode }) => state === "held" && mode === "exclusive");
  if (holder === undefined) return null;
  const { value = null, owner, token, since } = holder;
  return { value, owner, token, since };
}

/** A lease of the lock of the election's name. */
class LeadershipHandle extends LeaseHandle implements Leadership {
  readonly #keeper: LeaseHost;

  constructor(keeper: LeaseHost, ...rest: LeaseParts) {
    super(keeper, ...rest);
    this.#keeper = keeper;
  }

  async proclaim(value: Json): Promise<void> {
    const { calls, context } = this.#keeper;
    const { scope, first } = this.entries;
    const checked = checkJson("value", value, valueBytesMax);
    context.lifetime.assertWritable("proclaim");
    this.assertNotOver();
    const { name, token } = first;
    const { leaseId: id } = this;
    const command = { scope, name, id, token, change: this.takeChange(), value: checked };
    const { outcome } = await calls.untilAnswered(
      [lockKey(scope.namespace, name)],
      (snapshot) => decideProclaim(snapshot, command),
      { deadlineMs: calls.deadlineMs() },
    );
    if (outcome.result.kind === "lost") throw await this.lostAs(outcome.result);
    this.assertNotOver();
  }

  async resign(): Promise<boolean> {
    return this.release();
  }
}

type LeaseParts =
  ConstructorParameters<typeof LeaseHandle> extends [unknown, ...infer Rest] ? Rest : never;
