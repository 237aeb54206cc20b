import type { Grant, LockRecord, Ticket } from "../../src/core/lock/record.ts";
import type { LockScope } from "../../src/core/lock/scope.ts";
import type { Json } from "../../src/core/scalars.ts";
import type { Client } from "./world.ts";

/** A stored lock record, free and untouched unless said. */
export function storedLock(more: Partial<LockRecord>): Json {
  const record: LockRecord = {
    v: 1,
    counter: 0,
    nextTicket: 1,
    grants: [],
    queue: [],
    ended: [],
    touchedAt: 0,
    ...more,
  };
  return record as unknown as Json;
}

/** A stored grant of another process, 30 s long from `now`. */
export function storedGrant(now: number, more: Partial<Grant> = {}): Grant {
  return {
    id: "stored-grant",
    kind: "lease",
    state: "held",
    token: 1,
    mode: "exclusive",
    owner: "stored",
    actor: { host: "stored", pid: 1 },
    leaseMs: 30_000,
    spanMs: 30_000,
    expiresAt: now + 30_000,
    grantedAt: now,
    lockDelayMs: 0,
    size: 1,
    presence: "stored-presence",
    change: 0,
    ...more,
  };
}

/** A stored ticket of another process that waits without limit. */
export function storedTicket(now: number, number: number, more: Partial<Ticket> = {}): Ticket {
  return {
    id: `stored-ticket-${number}`,
    number,
    kind: "lease",
    mode: "exclusive",
    owner: `stored-${number}`,
    actor: { host: "stored", pid: 1 },
    leaseMs: 30_000,
    lockDelayMs: 0,
    enqueuedAt: now,
    giveUpAt: null,
    presence: "stored-presence",
    size: 1,
    ...more,
  };
}

/** The lock records that a client has stored, in the order of its commits. */
export function lockRecordsOf({ engine }: Client, name: string): readonly LockRecord[] {
  return engine.commits
    .flatMap(({ writes }) => writes)
    .filter(({ key }) => key[0] === "lock" && key[2] === name)
    .map(({ value }) => value as unknown as LockRecord);
}

/** The scope of decisions that a client outside the library would make. */
export function strangerScope(): LockScope {
  return {
    namespace: "default",
    presence: "stranger",
    actor: { host: "stranger", pid: 1 },
    clockErrorMs: 0,
    presenceMs: 15_000,
    confirmMs: 5_000,
    queueMax: 10_000,
    holdersMax: 1_000,
    wideningMax: 128,
    audit: "exceptions",
  };
}
