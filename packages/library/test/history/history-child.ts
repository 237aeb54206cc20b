import { appendFileSync } from "node:fs";

import { LeaseholdError, open, type Lease, type Space } from "leasehold";

import type { HistoryLine } from "./history-line.ts";

/**
 * One process of a recorded history: acquires, holds and releases the same few locks as others do,
 * and writes down what it was told and when, by the host's monotonic clock.
 *
 * The instants are read before the call that vouches for them, so a process that is stopped in
 * between claims less than it was told, never more.
 */
const [url, log, seconds, seed] = process.argv.slice(2) as [string, string, string, string];
const leaseMs = 1_000;
const names = ["one", "two"];

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const write = (line: HistoryLine): void => appendFileSync(log, `${JSON.stringify(line)}\n`);

process.on("unhandledRejection", (error) => write({ kind: "unhandled", error: String(error) }));
process.on("uncaughtException", (error) => write({ kind: "unhandled", error: String(error) }));

let state = Number(seed) >>> 0;
function chance(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}

// Under another command this process is not the one that was started.
process.send?.(process.pid);
const space = await opened();
const endMs = nowMs() + Number(seconds) * 1_000;
await Promise.all([flow(), flow(), flow()]);
await space.close({ grace: "2s" });
write({ kind: "finished" });
process.exit(0);

/** A planted fault may hit the opening, too; a process would be started again then. */
async function opened(): Promise<Space> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await open(url, { lease: leaseMs, presenceLease: 3_000, confirmWindow: 1_000 });
    } catch (error) {
      if (attempt === 10) throw error;
    }
  }
}

async function flow(): Promise<void> {
  while (nowMs() < endMs) {
    const name = names[Math.floor(chance() * names.length)] as string;
    const mode = chance() < 0.25 ? "shared" : "exclusive";
    const askedMs = nowMs();
    try {
      const lease =
        chance() < 0.2
          ? await space.tryAcquire(name, { mode })
          : await space.acquire(name, { mode, wait: 4_000 });
      if (lease === null) continue;
      const { token } = lease;
      write({ kind: "granted", name, mode, token, askedMs, atMs: nowMs() });
      await hold(lease);
    } catch (error) {
      const code = error instanceof LeaseholdError ? error.code : `uncoded: ${String(error)}`;
      write({ kind: "error", code });
    }
  }
}

async function hold(lease: Lease): Promise<void> {
  const { name, token } = lease;
  const looks = 1 + Math.floor(chance() * 5);
  for (let look = 0; look < looks; look += 1) {
    const atMs = nowMs();
    if (lease.state !== "held") break;
    lease.assertHeld();
    write({ kind: "still", name, token, atMs });
    if (chance() < 0.01) block(leaseMs * 1.5);
    await new Promise((resume) => setTimeout(resume, chance() * 40));
  }
  const atMs = nowMs();
  const wasFreed = await lease.release();
  write({ kind: "released", name, token, atMs, wasFreed });
}

/** A computation that lets nothing else of this process run. */
function block(ms: number): void {
  const untilMs = nowMs() + ms;
  while (nowMs() < untilMs) Math.sqrt(untilMs);
}
