import { parseDuration } from "../core/duration.ts";
import { pageTicketsMax } from "../core/lock/record.ts";
import type { AuditLevel } from "../core/lock/scope.ts";
import { retentionDefault, type Retention } from "../core/lock/sweep.ts";
import { checkName, checkOwner } from "../core/name.ts";
import type { DurationMs } from "../core/scalars.ts";
import type { Capabilities } from "../engine/contract.ts";
import { InvalidArgumentError } from "../errors.ts";
import { checkFlag, checkInteger, checkKnown, checkOneOf, orDefault } from "./argument-checks.ts";
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
  readonly audit: AuditLevel;
  /** Null when this space never sweeps. */
  readonly sweepMs: DurationMs | null;
  readonly retention: Retention;
}

const optionNames = [
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
  "audit",
  "sweep",
  "retention",
  "clock",
  "entropy",
];

/** Shortest lease on an engine without a clock error (section 3). */
const leaseMinMs = 100;
/** Room for one ticket or grant, with the longest owner and note, in a bounded record. */
const entryBytesMax = 4_096;
/** Records of a decision that are not pages of the queue (section 3). */
const otherKeys = 28;
const auditLevels = ["exceptions", "all", "off"] as const;
const queueMax = 10_000;
const holdersMax = 1_000;

interface Range {
  readonly least: DurationMs;
  readonly most: DurationMs;
}

/** Checks every option of a space by name and value, before anything is opened. */
export function parseSpaceOptions(options: SpaceOptions, capabilities: Capabilities): SpaceConfig {
  checkKnown("options", options, optionNames, "open");
  const least = Math.max(leaseMinMs, 10 * capabilities.clockErrorMs);
  const day = 86_400_000;
  const leaseMaxMs = bounded(options, "leaseMax", 300_000, { least, most: 30 * day });
  const presenceMs = bounded(options, "presenceLease", 15_000, { least: 3_000, most: 300_000 });
  const lookMs = bounded(options, "lookPeriod", 1_000, { least: 100, most: 30_000 });
  const freeMs = bounded(options, "retention", retentionDefault.freeMs, {
    least: 1_000,
    most: 365 * day,
  });
  return {
    namespace: checkName("namespace", orDefault(options.namespace, "default")),
    app: options.app === undefined ? null : checkOwner("app", options.app),
    owner: options.owner === undefined ? null : checkOwner("owner", options.owner),
    isReadOnly: checkFlag("readOnly", options.readOnly),
    leaseMinMs: least,
    leaseMs: bounded(options, "lease", Math.min(30_000, leaseMaxMs), { least, most: leaseMaxMs }),
    leaseMaxMs,
    claimMaxMs: bounded(options, "claimMax", day, { least, most: 365 * day }),
    callTimeoutMs: bounded(options, "callTimeout", 5_000, { least: 100, most: 300_000 }),
    confirmMs: bounded(options, "confirmWindow", 5_000, { least: 1_000, most: 60_000 }),
    presenceMs,
    lookMs,
    lookFarMs: options.lookPeriod === undefined ? 3 * lookMs : lookMs,
    queueMax: queueLimit(options, capabilities),
    holdersMax: holderLimit(options, capabilities),
    audit: checkOneOf("audit", orDefault(options.audit, "exceptions"), auditLevels),
    sweepMs: sweepPeriod(options),
    retention: { ...retentionDefault, freeMs },
  };
}

function bounded(
  options: SpaceOptions,
  name: keyof SpaceOptions,
  standard: DurationMs,
  { least, most }: Range,
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

function sweepPeriod(options: SpaceOptions): DurationMs | null {
  if (options.sweep === false) return null;
  return bounded(options, "sweep", 300_000, { least: 1_000, most: 3_600_000 });
}
