import { LeaseholdError, open, type Lease, type Space } from "leasehold";

import type { Order, Reply } from "./puppet.ts";

/** A process that does what a test orders over its channel, and tells when each thing was done. */
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const leases = new Map<number, Lease>();
let space: Space | undefined;

async function perform(order: Order): Promise<unknown> {
  switch (order.do) {
    case "open":
      space = await open(order.url, order.options);
      return undefined;
    case "acquire": {
      const lease = await opened().acquire(order.name, order.options);
      leases.set(lease.token, lease);
      return lease.token;
    }
    case "try": {
      const lease = await opened().tryAcquire(order.name, order.options);
      if (lease !== null) leases.set(lease.token, lease);
      return lease?.token ?? 0;
    }
    case "claim":
      return opened().tryClaim(order.name, order.owner);
    case "release":
      return leases.get(order.token)?.release();
    case "state":
      return leases.get(order.token)?.state;
    case "status":
      return opened().status(order.name);
    case "race":
      return race(order.name, order.rounds);
    case "block": {
      const untilMs = nowMs() + order.ms;
      while (nowMs() < untilMs) Math.sqrt(untilMs);
      return undefined;
    }
    case "close":
      return space?.close();
  }
}

/** Acquires and releases in a tight loop, as a newcomer each time. */
async function race(name: string, rounds: number): Promise<readonly number[]> {
  const tokens: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const lease = await opened().acquire(name, { wait: "60s" });
    tokens.push(lease.token);
    await lease.release();
  }
  return tokens;
}

function opened(): Space {
  if (space === undefined) throw new Error("not opened");
  return space;
}

function send(reply: Reply): void {
  process.send?.(reply);
}

process.on("message", (order: Order) => {
  perform(order).then(
    (value) => send({ id: order.id, value, atMs: nowMs() }),
    (error: unknown) => {
      const code = error instanceof LeaseholdError ? error.code : String(error);
      send({ id: order.id, code, atMs: nowMs() });
    },
  );
});
process.on("unhandledRejection", (error) => send({ id: -1, code: String(error), atMs: nowMs() }));
