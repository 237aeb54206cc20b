import { conflicts } from "../../src/core/lock/validity.ts";
import type { Mode } from "../../src/core/lock/record.ts";
import type { HistoryLine } from "./history-line.ts";

/** One grant, from the call that got it to the last instant at which its holder was vouched for. */
export interface RecordedGrant {
  readonly name: string;
  readonly token: number;
  readonly mode: Mode;
  readonly askedMs: number;
  readonly grantedMs: number;
  readonly lastHeldMs: number;
}

/** Puts the lines of all processes together, grant by grant. */
export function grantsOf(lines: readonly HistoryLine[]): readonly RecordedGrant[] {
  const grants = new Map<string, RecordedGrant>();
  for (const line of lines) {
    if (line.kind === "granted") {
      const { name, token, mode, askedMs, atMs } = line;
      const key = `${name}/${token}`;
      if (grants.has(key)) throw new Error(`token ${key} was given out twice [I1]`);
      grants.set(key, { name, token, mode, askedMs, grantedMs: atMs, lastHeldMs: atMs });
    }
  }
  for (const line of lines) {
    if (line.kind !== "still") continue;
    const key = `${line.name}/${line.token}`;
    const grant = grants.get(key);
    if (grant === undefined) throw new Error(`${key} was held and never granted [I2]`);
    grants.set(key, { ...grant, lastHeldMs: Math.max(grant.lastHeldMs, line.atMs) });
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
  const breaks: string[] = [];
  for (const [name, ofName] of Map.groupBy(grants, (grant) => grant.name)) {
    const latest: Record<Mode, RecordedGrant | undefined> = {
      exclusive: undefined,
      shared: undefined,
    };
    let lastTold: RecordedGrant | undefined;
    for (const grant of ofName.toSorted((one, other) => one.token - other.token)) {
      for (const earlier of Object.values(latest)) {
        if (earlier === undefined || !conflicts(earlier.mode, grant.mode)) continue;
        if (earlier.lastHeldMs < grant.grantedMs) continue;
        breaks.push(`${name}: ${earlier.token} was still held when ${grant.token} was granted`);
      }
      // Tokens rise, so every grant before this one must not have been asked for after it was told.
      if (lastTold !== undefined && lastTold.askedMs > grant.grantedMs) {
        breaks.push(`${name}: ${lastTold.token} was asked for after ${grant.token} was told`);
      }
      const ofMode = latest[grant.mode];
      if (ofMode === undefined || ofMode.lastHeldMs < grant.lastHeldMs) latest[grant.mode] = grant;
      if (lastTold === undefined || lastTold.askedMs < grant.askedMs) lastTold = grant;
    }
  }
  return breaks;
}
