import { parseDuration } from "../core/duration.ts";
import type { AskedItem } from "../core/lock/acquire-command.ts";
import type { TicketKind } from "../core/lock/record.ts";
import type { Part } from "../core/lock/scope.ts";
import type { Denial } from "../core/lock/views.ts";
import { checkName, checkNote, checkOwner } from "../core/name.ts";
import type { DurationMs, Json } from "../core/scalars.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Guard } from "../fence/guard.ts";
import {
  checkFunction,
  checkGuard,
  checkInteger,
  checkKnown,
  checkOneOf,
  checkSignal,
  orDefault,
} from "./argument-checks.ts";
import { itemsOf, parseRequests } from "./request-list.ts";
import type { SpaceConfig } from "./space-config.ts";

/** An acquiring call, checked and in milliseconds. */
export interface LockRequest {
  /** The first name that was asked for; errors and events tell it. */
  readonly name: string;
  /** The locks asked for, owning locks last; each name once. */
  readonly items: readonly [AskedItem, ...AskedItem[]];
  /** The family of records that the names belong to. */
  readonly part: Part;
  readonly kind: TicketKind;
  readonly value: Json | undefined;
  readonly owner: string | null;
  readonly note: string | undefined;
  readonly leaseMs: DurationMs;
  readonly lockDelayMs: DurationMs;
  /** 0 never queues; `Infinity` waits for the signal. */
  readonly waitMs: DurationMs;
  readonly isRenewed: boolean;
  readonly maxHoldMs: DurationMs | null;
  readonly guard: Guard | undefined;
  readonly signal: AbortSignal | undefined;
  readonly refused: ((denial: Denial) => void) | undefined;
  /** Places asked for of a semaphore, and how many there are; 0 for a lock. */
  readonly permits: number;
  readonly limit: number;
}

/** Default of `wait` (section 3). */
const waitMsDefault = 30_000;
const lockDelayMsMax = 60_000;

interface CallShape {
  readonly kind: TicketKind;
  readonly isTry: boolean;
}

export type AcquiringCall =
  | "acquire"
  | "tryAcquire"
  | "acquireAll"
  | "tryAcquireAll"
  | "claim"
  | "tryClaim";

const shapes: Readonly<Record<AcquiringCall, CallShape>> = {
  acquire: { kind: "lease", isTry: false },
  tryAcquire: { kind: "lease", isTry: true },
  acquireAll: { kind: "lease", isTry: false },
  tryAcquireAll: { kind: "lease", isTry: true },
  claim: { kind: "claim", isTry: false },
  tryClaim: { kind: "claim", isTry: true },
};
const modes = ["exclusive", "shared"] as const;

const common = ["lease", "note", "lockDelay", "signal"];
const ofLease = ["owner", "renew", "maxHold", "fenceOn"];
const ofName = ["mode", "owners"];

/** Checks the arguments of an acquiring call; nothing is sent before all have passed (L6). */
export function parseRequest(
  config: SpaceConfig,
  call: AcquiringCall,
  name: unknown,
  given: object,
): LockRequest {
  const isLease = shapes[call].kind === "lease";
  const checkedName = checkName("name", name);
  const options = checkOptions(call, given, isLease ? ofName : []);
  const mode = checkOneOf("mode", orDefault(options["mode"], "exclusive"), modes);
  const owners = isLease ? options["owners"] : [];
  const items = itemsOf(config, [{ name: checkedName, mode, owners }]);
  return { ...parseTerms(config, call, options), name: checkedName, items };
}

/** The same for a list of requests (L7). */
export function parseBatch(
  config: SpaceConfig,
  call: "acquireAll" | "tryAcquireAll",
  requests: unknown,
  given: object,
): LockRequest {
  const items = itemsOf(config, parseRequests(requests));
  const options = checkOptions(call, given, []);
  return { ...parseTerms(config, call, options), name: items[0].name, items };
}

/** The most permits that a semaphore has. */
export const limitMost = 10_000;

/** Places of a semaphore; more than its limit are refused before any traffic (L105). */
export function parsePermits(
  config: SpaceConfig,
  call: "acquire" | "tryAcquire",
  { name, limit }: { readonly name: string; readonly limit: number },
  given: object,
): LockRequest {
  const options = checkOptions(call, given, ["permits"]);
  const asked = orDefault(options["permits"], 1);
  const permits = checkInteger("permits", asked, { least: 1, most: limit });
  const items = [{ name, mode: "exclusive" }] as const;
  const terms = parseTerms(config, call, options);
  return { ...terms, name, items, part: "semaphore", permits, limit };
}

/** A candidacy: an exclusive request that carries a value, and waits without limit (L102). */
export function parseCampaign(
  config: SpaceConfig,
  name: string,
  value: Json,
  given: object,
): LockRequest {
  const options = checkOptions("acquire", given, []);
  const wait = orDefault(options["wait"], Infinity);
  const terms = parseTerms(config, "acquire", { ...options, wait });
  return { ...terms, name, items: [{ name, mode: "exclusive" }], value };
}

function checkOptions(
  call: AcquiringCall,
  given: object,
  more: readonly string[],
): Readonly<Record<string, unknown>> {
  const { kind, isTry } = shapes[call];
  const ofKind = kind === "lease" ? ofLease : [];
  const known = [...common, ...ofKind, ...more, isTry ? "refused" : "wait"];
  checkKnown("options", given, known, call);
  return given as Readonly<Record<string, unknown>>;
}

/** The options that all acquiring calls have in common. */
function parseTerms(
  config: SpaceConfig,
  call: AcquiringCall,
  options: Readonly<Record<string, unknown>>,
): Omit<LockRequest, "name" | "items"> {
  const { kind, isTry } = shapes[call];
  const leaseMs = parseLease(config, "lease", options["lease"], {
    kind,
    standardMs: config.leaseMs,
  });
  return {
    part: "lock",
    kind,
    value: undefined,
    owner: options["owner"] === undefined ? null : checkOwner("owner", options["owner"]),
    note: options["note"] === undefined ? undefined : checkNote("note", options["note"], 0),
    leaseMs,
    lockDelayMs: parseLockDelay(options["lockDelay"]),
    waitMs: isTry ? 0 : parseWait(options["wait"]),
    isRenewed: parseRenew(options["renew"]),
    maxHoldMs: parseMaxHold(options["maxHold"], leaseMs),
    guard: checkGuard(options["fenceOn"]),
    signal: checkSignal(options["signal"]),
    refused: checkFunction("refused", options["refused"] as LockRequest["refused"]),
    permits: 0,
    limit: 0,
  };
}

/** Omitted, zero or negative means the standard length; above the maximum it is capped (L4). */
export function parseLease(
  config: SpaceConfig,
  parameter: string,
  value: unknown,
  rule: { readonly kind: "lease" | "claim" | "resumed"; readonly standardMs: DurationMs },
): DurationMs {
  const asked = value === undefined ? 0 : parseDuration(parameter, value);
  if (asked <= 0) return rule.standardMs;
  if (asked < config.leaseMinMs) {
    throw new InvalidArgumentError(parameter, value, `must be at least ${config.leaseMinMs} ms`);
  }
  return Math.min(asked, rule.kind === "lease" ? config.leaseMaxMs : config.claimMaxMs);
}

/** `"auto"` when omitted; true when the library renews (L40). */
export function parseRenew(value: unknown): boolean {
  return checkOneOf("renew", orDefault(value, "auto"), ["auto", "manual"]) === "auto";
}

export function parseMaxHold(value: unknown, leaseMs: DurationMs): DurationMs | null {
  if (value === undefined) return null;
  const ms = parseDuration("maxHold", value);
  if (ms >= leaseMs) return ms;
  throw new InvalidArgumentError("maxHold", value, `must be at least the lease of ${leaseMs} ms`);
}

export function parseWait(value: unknown): DurationMs {
  if (value === undefined) return waitMsDefault;
  const ms = parseDuration("wait", value, { allowsEndless: true });
  if (ms === Infinity || (ms >= 0 && Number.isSafeInteger(ms))) return ms;
  throw new InvalidArgumentError("wait", value, "must be from 0 to 2^53-1 ms, or Infinity");
}

function parseLockDelay(value: unknown): DurationMs {
  const ms = value === undefined ? 0 : parseDuration("lockDelay", value);
  if (ms >= 0 && ms <= lockDelayMsMax) return ms;
  throw new InvalidArgumentError("lockDelay", value, `must be from 0 to ${lockDelayMsMax} ms`);
}
