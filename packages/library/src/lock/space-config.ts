import { parseDuration } from "../core/duration.ts";
import { pageTicketsMax } from "../core/lock/record.ts";
import type { AuditLevel } from "../core/lock/scope.ts";
import { retentionDefault, type Retention } from "../core/lock/sweep.ts";
import { checkName, checkOwner } from "../core/name.ts";
import type { DurationMs } from "../core/scalars.ts";
import type { Capabilities } from "../engine/contract.ts";
import { InvalidArgumentError } from "../errors.ts";
import {
  checkFlag,
  checkFunction,
  checkInteger,
  checkKnown,
  checkOneOf,
  orDefault,
} from "./argument-checks.ts";
import type { SpaceOptions } from "./space-api.ts";

/** The options of a space, checked and in milliseconds. */
export interface SpaceConfig {
  readonly namespace: string;
  readonly app: string | null;
  readonly owner: string | null;
  readonly isReadOnly: boolean;
  readonly leaseMinMs: DurationMs;
  readonly leaseMs: DurationMs;
  readonly leaseMaxMs: DurationMs;
  readonly claimMaxMs: DurationMs;
  readonly callTimeoutMs: DurationMs;
  readonly confirmMs: DurationMs;
  readonly presenceMs: DurationMs;
  /** Period of looks near the head of a queue, and further back. */
  readonly lookMs: DurationMs;
  readonly lookFarMs: DurationMs;
  readonly queueMax: number;
  readonly holdersMax: number;
  /** Most locks of one batch, owning locks included. */
  readonly batchMax: number;
  readonly ownersOf: ((name: string) => readonly string[]) | undefined;
  readonly audit: AuditLevel;
  /** Null when this space never sweeps. */
  readonly sweepMs: DurationMs | null;
  readonly retention: Retention;
}

/** Every option of a space by name. */
export const optionNames: readonly string[] = [
  "namespace",
  "app",
  "owner",
  "readOnly",
  "lease",
  "leaseMax",
  "claimMax",
  "callTimeout",
  "confirmWindow",
  "presenceLease",
  "lookPeriod",
  "queueLimit",
  "holderLimit",
  "batchLimit",
  "ownersOf",
  "audit",
  "sweep",
  "retention",
  "clock",
  "entropy",
];

const secondMs = 1_000;
const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Durations of a space: what they are unless given, and their bounds, in ms (section 3). */
const durations = Object.freeze({
  lease: 30 * secondMs,
  leaseMax: { standard: 5 * minuteMs, most: 30 * dayMs },
  claimMax: { standard: dayMs, most: 365 * dayMs },
  callTimeout: { standard: 5 * secondMs, least: 100, most: 5 * minuteMs },
  confirmWindow: { standard: 5 * secondMs, least: secondMs, most: minuteMs },
  presenceLease: { standard: 15 * secondMs, least: 3 * secondMs, most: 5 * minuteMs },
  lookPeriod: { standard: secondMs, least: 100, most: 30 * secondMs },
  sweep: { standard: 5 * minuteMs, least: secondMs, most: 60 * minuteMs },
  retention: { standard: retentionDefault.freeMs, least: secondMs, most: 365 * dayMs },
});
/** Shortest lease on an engine without a clock error (section 3). */
const leaseMinMs = 100;
/** The shortest lease in clock errors, on an engine that has one (section 3). */
const leaseMinErrors = 10;
/** Looks further back in a queue are this many times rarer (section 3). */
const lookFarFactor = 3;
/** Room for one ticket or grant, with the longest owner and note, in a bounded record. */
const entryBytesMax = 4_096;
/** Records of a decision that are not pages of the queue (section 3). */
const otherKeys = 28;
const auditLevels = ["exceptions", "all", "off"] as const;
const queueMax = 10_000;
const holdersMax = 1_000;
const batchStandard = 10_000;
/** Records that a batch may need for each name: its lock, a page of its queue, its audit. */
const keysPerName = 3;

interface Range {
  readonly standard: DurationMs;
  readonly least: DurationMs;
  readonly most: DurationMs;
}

/** Checks every option of a space by name and value, before anything is opened. */
export function parseSpaceOptions(options: SpaceOptions, capabilities: Capabilities): SpaceConfig {
  checkKnown("options", options, optionNames, "open");
  const least = Math.max(leaseMinMs, leaseMinErrors * capabilities.clockErrorMs);
  const leaseMaxMs = bounded(options, "leaseMax", { ...durations.leaseMax, least });
  const lease = { standard: Math.min(durations.lease, leaseMaxMs), least, most: leaseMaxMs };
  const lookMs = bounded(options, "lookPeriod", durations.lookPeriod);
  return {
    namespace: checkName("namespace", orDefault(options.namespace, "default")),
    app: options.app === undefined ? null : checkOwner("app", options.app),
    owner: options.owner === undefined ? null : checkOwner("owner", options.owner),
    isReadOnly: checkFlag("readOnly", options.readOnly),
    leaseMinMs: least,
    leaseMs: bounded(options, "lease", lease),
    leaseMaxMs,
    claimMaxMs: bounded(options, "claimMax", { ...durations.claimMax, least }),
    callTimeoutMs: bounded(options, "callTimeout", durations.callTimeout),
    confirmMs: bounded(options, "confirmWindow", durations.confirmWindow),
    presenceMs: bounded(options, "presenceLease", durations.presenceLease),
    lookMs,
    lookFarMs: options.lookPeriod === undefined ? lookFarFactor * lookMs : lookMs,
    queueMax: queueLimit(options, capabilities),
    holdersMax: holderLimit(options, capabilities),
    batchMax: batchLimit(options, capabilities),
    ownersOf: checkFunction("ownersOf", options.ownersOf),
    audit: checkOneOf("audit", orDefault(options.audit, "exceptions"), auditLevels),
    sweepMs: sweepPeriod(options),
    retention: {
      ...retentionDefault,
      freeMs: bounded(options, "retention", durations.retention),
    },
  };
}

function bounded(
  options: SpaceOptions,
  name: keyof SpaceOptions,
  { standard, least, most }: Range,
): DurationMs {
  const value = options[name];
  const ms = value === undefined ? standard : parseDuration(name, value);
  if (ms >= least && ms <= most) return ms;
  throw new InvalidArgumentError(name, value ?? standard, `must be from ${least} to ${most} ms`);
}

function queueLimit(options: SpaceOptions, { keysPerCommitMax }: Capabilities): number {
  const pages = Math.max(1, keysPerCommitMax - otherKeys);
  const most = Math.min(queueMax, pageTicketsMax * pages);
  const asked = orDefault(options.queueLimit, most);
  return checkInteger("queueLimit", asked, { least: 1, most: queueMax }, most);
}

function holderLimit(options: SpaceOptions, { recordBytesMax }: Capabilities): number {
  const room = Math.floor(recordBytesMax / entryBytesMax) - 100;
  const most = Math.max(1, Math.min(holdersMax, room));
  const asked = orDefault(options.holderLimit, most);
  return checkInteger("holderLimit", asked, { least: 1, most: holdersMax }, most);
}

function batchLimit(options: SpaceOptions, { keysPerCommitMax }: Capabilities): number {
  const most = Math.max(1, Math.floor((keysPerCommitMax - otherKeys) / keysPerName));
  const asked = orDefault(options.batchLimit, Math.min(batchStandard, most));
  return checkInteger("batchLimit", asked, { least: 1, most: 1_000_000 }, most);
}

function sweepPeriod(options: SpaceOptions): DurationMs | null {
  if (options.sweep === false) return null;
  return bounded(options, "sweep", durations.sweep);
}
