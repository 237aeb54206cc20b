import { openSync, writeSync } from "node:fs";

import { LeaseholdError, LeaseLostError, open, type Lease, type Space } from "leasehold";

import { historySettings, type CallLine, type HistoryLine } from "./history-line.ts";
import { chanceOf } from "./random-history.ts";

/**
 * One process of a recorded history: its clients acquire, hold, renew and release the same few
 * locks as others do, and write down each call when it begins and when it ends, by the host's
 * monotonic clock.
 *
 * An instant is read before the call that vouches for it, so a process that is stopped in between
 * claims less than it was told, never more.
 */
const [url, log, end, seed, clients, names] = process.argv.slice(2) as [
  ...[url: string, log: string, end: string],
  ...[seed: string, clients: string, names: string],
];
const { leaseMs, waitMs, presenceMs, confirmMs } = historySettings;
/** A calendar that is this much further on than elapsed time tells was set. */
const shiftMsMin = 2_000;

const file = openSync(log, "a");
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const write = (line: HistoryLine): void => void writeSync(file, `${JSON.stringify(line)}\n`);
const chance = chanceOf(Number(seed));
let calls = 0;

process.on("unhandledRejection", (error) => write({ kind: "unhandled", error: String(error) }));
process.on("uncaughtException", (error) => write({ kind: "unhandled", error: String(error) }));

// Under another command this process is not the one that was started.
process.send?.(process.pid);
const space = await opened();
const endMs = Number(end);
const watching = setInterval(watchCalendar(), 50);
await Promise.all(Array.from({ length: Number(clients) }, (_, client) => flow(client)));
clearInterval(watching);
await space.close({ grace: "2s" });
write({ kind: "finished" });
process.exit(0);

/** A planted fault may hit the opening, too; a process would be started again then. */
async function opened(): Promise<Space> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await open(url, {
        lease: leaseMs,
        presenceLease: presenceMs,
        confirmWindow: confirmMs,
      });
    } catch (error) {
      if (attempt === 10) throw error;
    }
  }
}

function watchCalendar(): () => void {
  let difference = Date.now() - nowMs();
  return () => {
    const byMs = Date.now() - nowMs() - difference;
    if (Math.abs(byMs) < shiftMsMin) return;
    difference += byMs;
    write({ kind: "shift", byMs });
  };
}

type Asked = CallLine extends infer Line
  ? Line extends CallLine
    ? Omit<Line, "kind" | "id" | "atMs">
    : never
  : never;

interface Answer {
  readonly kind: "ok" | "fail";
  readonly token?: number;
  readonly ended?: readonly number[];
}

/** Makes one call and writes down its beginning and its end. */
async function record<Value>(
  asked: Asked,
  make: () => Promise<Value>,
  answerOf: (value: Value) => Answer,
): Promise<Value | undefined> {
  calls += 1;
  const id = calls;
  write({ ...asked, kind: "call", id, atMs: nowMs() });
  try {
    const value = await make();
    write({ ...answerOf(value), id, atMs: nowMs() });
    return value;
  } catch (error) {
    const atMs = nowMs();
    const code = error instanceof LeaseholdError ? error.code : `uncoded: ${String(error)}`;
    // A handle also counts as lost when its local deadline has passed, which the store knows
    // nothing of; only a forced end is the store's own word.
    const isForced = error instanceof LeaseLostError && error.reason === "forced";
    const isRefused = code === "LOCK_WAIT_TIMEOUT" && asked.do === "acquire";
    if (isRefused || (isForced && asked.do === "renew")) write({ kind: "fail", id, atMs });
    else write({ kind: "unknown", id, atMs, code });
    return undefined;
  }
}

async function flow(client: number): Promise<void> {
  while (nowMs() < endMs) {
    const name = `lock ${Math.floor(chance() * Number(names))}`;
    if (chance() < 0.01) await force(client, name);
    const lease = await ask(client, name);
    if (lease !== undefined && lease !== null) await hold(client, lease);
    else await pause(5);
  }
}

function ask(client: number, name: string): Promise<Lease | null | undefined> {
  const mode = chance() < 0.25 ? "shared" : "exclusive";
  const waits = chance() < 0.8;
  const renew = chance() < 0.3 ? "manual" : "auto";
  return record<Lease | null>(
    { client, name, do: "acquire", mode, waits },
    () =>
      waits
        ? space.acquire(name, { mode, renew, wait: waitMs })
        : space.tryAcquire(name, { mode, renew }),
    (lease) => (lease === null ? { kind: "fail" } : { kind: "ok", token: lease.token }),
  );
}

async function force(client: number, name: string): Promise<void> {
  await record(
    { client, name, do: "force" },
    () => space.forceRelease(name, { reason: "a history" }),
    ({ ended }) => ({ kind: "ok", ended: ended.map(({ token }) => token) }),
  );
}

async function hold(client: number, lease: Lease): Promise<void> {
  const { name, token } = lease;
  const looks = 1 + Math.floor(chance() * 5);
  for (let look = 0; look < looks; look += 1) {
    const atMs = nowMs();
    if (lease.state !== "held") break;
    lease.assertHeld();
    write({ kind: "still", name, token, atMs });
    if (chance() < 0.01) block(leaseMs * 1.5);
    await pause(chance() * 40);
    if (chance() < 0.2) await prolong(client, lease);
  }
  // A forgotten lease runs out by itself, unless it is renewed for ever.
  if (chance() < 0.03 && lease.remainingMs() < leaseMs / 2) return;
  await record(
    { client, name, do: "release", token, remainingMs: lease.remainingMs() },
    () => lease.release(),
    (wasFreed) => ({ kind: wasFreed ? "ok" : "fail" }),
  );
}

async function prolong(client: number, lease: Lease): Promise<void> {
  const { name, token } = lease;
  if (lease.state !== "held") return;
  await record(
    { client, name, do: "renew", token },
    () => lease.renew(),
    () => ({ kind: "ok" }),
  );
}

/** A computation that lets nothing else of this process run. */
function block(ms: number): void {
  const untilMs = nowMs() + ms;
  while (nowMs() < untilMs) Math.sqrt(untilMs);
}

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}
