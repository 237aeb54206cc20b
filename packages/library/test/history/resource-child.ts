import { once } from "node:events";

import { LeaseholdError, open } from "leasehold";

import { historySettings } from "./history-line.ts";
import { markGuard, Resource, withoutGuard } from "./resource.ts";

/**
 * Appends to the guarded list under a lock until it is told to end. Between reading and writing it
 * asks its parent, who may stop it there: it was sure of its lease before, and is not any more.
 */
const [store, list, guard, by] = process.argv.slice(2) as [string, string, string, string];
const { leaseMs, presenceMs, confirmMs } = historySettings;

/** What a process tells its parent. */
export type ResourceNews = "reading" | "written" | "refused";

const space = await open(store, {
  lease: leaseMs,
  presenceLease: presenceMs,
  confirmWindow: confirmMs,
});
using resource = new Resource(list, guard === "mark" ? markGuard : withoutGuard);
const ending = new AbortController();
process.on("message", (word) => {
  if (word === "end") ending.abort();
});
process.send?.(process.pid);
while (!ending.signal.aborted) await append();
await space.close({ grace: "2s" });
process.exit(0);

async function append(): Promise<void> {
  try {
    const lease = await space.acquire("list", { wait: "2s" });
    const { token } = lease;
    const entries = resource.read();
    lease.assertHeld();
    tell("reading");
    await once(process, "message");
    const isWritten = resource.write([...entries, { token, by }], token);
    tell(isWritten ? "written" : "refused");
    await lease.release();
  } catch (error) {
    if (!(error instanceof LeaseholdError)) throw error;
  }
}

function tell(news: ResourceNews): void {
  process.send?.(news);
}
