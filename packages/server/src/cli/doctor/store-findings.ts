import type { Space } from "leasehold";
import { LeaseholdError } from "leasehold";

import type { Settings } from "../../config.ts";
import { spanText } from "../../output/time-text.ts";
import type { Cli } from "../cli.ts";
import type { Finding } from "./finding.ts";

/** The lock on which commits are measured. */
const scratchName = "leasehold/doctor";
const cycles = 10;
/** A cycle is two commits; slower ones make short leases risky. */
const slowCycleMs = 200;
/** Calendar and engine time may differ by this much before times shown become misleading. */
const clockGapMsMax = 2000;
/** Nobody has run this before; a calendar that says so is not set. */
const calendarMsMin = Date.UTC(2025, 0, 1);

/** Examines the store by using it. */
export async function examineStore(cli: Cli, settings: Settings): Promise<readonly Finding[]> {
  try {
    await using space = await cli.openSpace(settings);
    return [
      engineFinding(space, settings),
      await clockFinding(cli, space),
      await commitFinding(cli, space),
    ];
  } catch (error) {
    if (!(error instanceof LeaseholdError)) throw error;
    const cure = "See the findings on folder and file, or choose another --store.";
    return [{ subject: "store", verdict: "wrong", text: error.message, cure }];
  }
}

function engineFinding({ capabilities }: Space, { storeUrl, namespace }: Settings): Finding {
  const { engine, durable, spansProcesses, spansHosts } = capabilities;
  const text = `${storeUrl}, engine ${engine}, namespace ${namespace}`;
  if (!spansProcesses) {
    const cure = "Use sqlite:PATH: a store in memory keeps no other process out.";
    return { subject: "store", verdict: "wrong", text, cure };
  }
  const reach = spansHosts ? "many hosts" : "this host";
  const kept = durable ? "every commit is flushed" : "commits are not flushed";
  return { subject: "store", verdict: "good", text: `${text}, for ${reach}; ${kept}` };
}

async function clockFinding({ clock }: Cli, space: Space): Promise<Finding> {
  const subject = "clock";
  const { now } = await space.status(scratchName);
  const gapMs = Math.abs(clock.wallMs() - now);
  if (clock.wallMs() < calendarMsMin) {
    const text = `the calendar of this host says ${new Date(clock.wallMs()).toISOString()}`;
    return { subject, verdict: "wrong", text, cure: "Set the clock of this host." };
  }
  if (gapMs <= clockGapMsMax) {
    return { subject, verdict: "good", text: `within ${spanText(gapMs)} of the store's` };
  }
  return {
    subject,
    verdict: "note",
    text: `${spanText(gapMs)} away from the store's: the calendar was set since the host started`,
    cure: "Locks are not affected; times shown are those of the store until the next start.",
  };
}

async function commitFinding({ clock }: Cli, space: Space): Promise<Finding> {
  const subject = "commits";
  const spans: number[] = [];
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    const startMs = clock.monotonicMs();
    // oxlint-disable-next-line no-await-in-loop -- one cycle after another is what is measured
    const lease = await space.acquire(scratchName, { wait: "5s", note: "measures commits" });
    // oxlint-disable-next-line no-await-in-loop -- the second half of the cycle
    await lease.release();
    spans.push(clock.monotonicMs() - startMs);
  }
  const sorted = spans.toSorted((a, b) => a - b);
  const middleMs = sorted[Math.floor(cycles / 2)] ?? 0;
  const worstMs = sorted.at(-1) ?? 0;
  const text =
    `acquire and release took ${middleMs.toFixed(1)} ms in the middle, ` +
    `${worstMs.toFixed(1)} ms at worst, of ${cycles}`;
  if (middleMs <= slowCycleMs) return { subject, verdict: "good", text };
  const cure = `The disk is slow: use leases of at least ${spanText(100 * middleMs)}.`;
  return { subject, verdict: "note", text, cure };
}
