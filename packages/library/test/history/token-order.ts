import { conflicts } from "../../src/core/lock/validity.ts";
import type { Mode } from "../../src/core/lock/record.ts";
import type { RecordedCall } from "./recorded-call.ts";

/** One grant, from the call that got it to the last instant at which its holder was vouched for. */
export interface RecordedGrant {
  readonly name: string;
  readonly token: number;
  readonly mode: Mode;
  readonly askedMs: number;
  readonly grantedMs: number;
  readonly lastHeldMs: number;
}

/** An instant at which a holder was vouched for. */
export interface Sight {
  readonly name: string;
  readonly token: number;
  readonly atMs: number;
}

/**
 * Puts calls and sights of all processes together, grant by grant. A grant that was forced to its
 * end is vouched for by nobody: its holder hears of the end only later (L111).
 */
export function grantsOf(
  calls: readonly RecordedCall[],
  sights: readonly Sight[],
): readonly RecordedGrant[] {
  const forces = calls.filter((call) => call.do === "force");
  const grants = new Map<string, RecordedGrant>();
  for (const call of calls) {
    if (call.do !== "acquire" || call.answer !== "ok") continue;
    const { name, token, mode, calledMs: askedMs, returnedMs: grantedMs } = call;
    const key = `${name}/${token}`;
    if (grants.has(key)) throw new Error(`token ${key} was given out twice [I1]`);
    // Told of is not yet vouched for: that is what the first look says.
    grants.set(key, { name, token, mode, askedMs, grantedMs, lastHeldMs: -Infinity });
  }
  for (const { name, token, atMs } of sights) {
    const key = `${name}/${token}`;
    const grant = grants.get(key);
    if (grant === undefined) throw new Error(`${key} was held and never granted [I2]`);
    const isForced = forces.some(
      (force) =>
        force.name === name &&
        force.calledMs < atMs &&
        (force.answer === "ok" ? force.ended.includes(token) : force.calledMs > grant.askedMs),
    );
    if (isForced) continue;
    grants.set(key, { ...grant, lastHeldMs: Math.max(grant.lastHeldMs, atMs) });
  }
  return [...grants.values()];
}

/**
 * What is wrong with the order of tokens: between two conflicting grants there must be an end, so
 * the holder of the lower token must not have been vouched for after the higher one was granted,
 * and a call that began after a grant was told must not get a lower token (I1, I32). Sorted by
 * token, one sweep: what matters of all lower tokens is their latest instant, per mode.
 */
export function tokenOrderBreaks(grants: readonly RecordedGrant[]): readonly string[] {
  const names = Map.groupBy(grants, (grant) => grant.name);
  return [...names.values()].flatMap((ofName) => breaksOf(ofName));
}

function breaksOf(ofName: readonly RecordedGrant[]): readonly string[] {
  const breaks: string[] = [];
  const longest = new Map<Mode, RecordedGrant>();
  let latest: RecordedGrant | undefined;
  for (const grant of ofName.toSorted((one, other) => one.token - other.token)) {
    const { name, token, mode, grantedMs, askedMs, lastHeldMs } = grant;
    for (const earlier of longest.values()) {
      if (!conflicts(earlier.mode, mode) || earlier.lastHeldMs < grantedMs) continue;
      breaks.push(`${name}: ${earlier.token} was still held when ${token} was granted`);
    }
    // Tokens rise, so no grant before this one may have been asked for after it was told.
    if (latest !== undefined && latest.askedMs > grantedMs) {
      breaks.push(`${name}: ${latest.token} was asked for after ${token} was told`);
    }
    if ((longest.get(mode)?.lastHeldMs ?? -Infinity) < lastHeldMs) longest.set(mode, grant);
    if (latest === undefined || latest.askedMs < askedMs) latest = grant;
  }
  return breaks;
}
