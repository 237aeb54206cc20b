import { statusOfRecord } from "../core/lock/status.ts";
import { lockStates, type LockStatus } from "../core/lock/views.ts";
import { ownerBytesMax } from "../core/name.ts";
import { InvalidArgumentError } from "../errors.ts";
import { checkInteger, checkOneOf, checkSignal, orDefault } from "./argument-checks.ts";
import type { EngineCalls } from "./engine-calls.ts";
import type { ListOptions, ListPage } from "./views-api.ts";
import type { SpaceContext } from "./space-context.ts";

const limitDefault = 100;

interface ListRequest {
  readonly limit: number;
  readonly state: string | null;
  readonly prefix: string;
  readonly owner: string | null;
  readonly cursor: string | undefined;
  readonly signal: AbortSignal | undefined;
}

export function parseListOptions(options: ListOptions): ListRequest {
  const { limit, state, prefix, owner, cursor, signal } = options;
  return {
    limit: checkInteger("limit", orDefault(limit, limitDefault), { least: 1, most: 1_000 }),
    state: state === undefined ? null : checkOneOf("state", state, lockStates),
    prefix: checkText("prefix", orDefault(prefix, "")),
    owner: owner === undefined ? null : checkText("owner", owner),
    cursor: cursor === undefined ? undefined : checkText("cursor", cursor),
    signal: checkSignal(signal),
  };
}

/**
 * One page of locks in the order of their stored keys. A lock that exists throughout is on exactly
 * one page (L108); a filter may leave a page short or empty although more follow.
 */
export async function listLocks(
  context: SpaceContext,
  calls: EngineCalls,
  { limit, state, prefix, owner, cursor, signal }: ListRequest,
): Promise<ListPage> {
  const { namespace, clockErrorMs } = context.scope;
  const request = { limit, partial: prefix, after: cursor };
  const page = await calls.scan(["lock", namespace], request, signal);
  const scene = { now: page.now, clockErrorMs };
  const locks = page.records
    .map(({ key, value }) => statusOfRecord(key, value, scene))
    .filter((status) => matches(status, state, owner));
  return page.next === undefined ? { locks } : { locks, next: page.next };
}

function matches(status: LockStatus, state: string | null, owner: string | null): boolean {
  if (state !== null && status.state !== state) return false;
  return owner === null || status.holders.some((holder) => holder.owner === owner);
}

function checkText(parameter: string, value: unknown): string {
  if (typeof value === "string" && value.isWellFormed()) return value;
  const rule = `must be a well-formed string; owner ids have at most ${ownerBytesMax} bytes`;
  throw new InvalidArgumentError(parameter, value, rule);
}
