import type {
  BatchRecord,
  Grant,
  LockRecord,
  PresenceRecord,
  Ticket,
} from "../../src/core/lock/record.ts";
import type { World } from "./world.ts";

/** The records of all locks before a commit. */
export type Before = ReadonlyMap<string, LockRecord | undefined>;

interface Scene {
  /** The presence that decided. */
  readonly by: string;
  readonly names: readonly string[];
  /** Attempts that were given up, and wishes that were taken back. */
  readonly quits: ReadonlySet<string>;
}

/** Throws when a commit has broken an invariant of several locks. */
export function checkLocks(world: World, before: Before, scene: Scene): void {
  const after = new Map(scene.names.map((name) => [name, recordOf(world, name)]));
  for (const [name, record] of after) {
    if (record === undefined) continue;
    checkGrants(world, name, record);
    checkPassing(world, { name, old: before.get(name), record, by: scene.by });
    checkWish(name, record);
    checkDropped(world, scene, before.get(name), record);
  }
  checkBatches(world, before, after);
  checkOrder(after);
}

function fail(id: string, what: string): never {
  throw new Error(`${id}: ${what}`);
}

function recordOf(world: World, name: string): LockRecord | undefined {
  return world.get(["lock", "ns", name]) as LockRecord | undefined;
}

function conflict(one: { readonly mode: string }, other: { readonly mode: string }): boolean {
  return one.mode === "exclusive" || other.mode === "exclusive";
}

function isLive(world: World, { expiresAt, forced }: Grant): boolean {
  return world.now < expiresAt && forced === undefined;
}

/** I1, I3, I4: tokens rise, the counter knows them, live grants go together. */
function checkGrants(world: World, name: string, { grants, counter }: LockRecord): void {
  const live = grants.filter((grant) => isLive(world, grant));
  for (const [index, one] of live.entries()) {
    const other = live.slice(index + 1).find((each) => conflict(one, each));
    if (other !== undefined) fail("I4", `${one.id} and ${other.id} hold ${name}`);
  }
  const tokens = grants.map(({ token }) => token);
  if (tokens.some((token, index) => token <= (tokens[index - 1] ?? 0)))
    fail("I1", `tokens of ${name}`);
  if (Math.max(0, ...tokens) > counter) fail("I3", `counter of ${name}`);
}

function isAlive(world: World, ticket: Ticket, by: string): boolean {
  if (ticket.giveUpAt !== null && world.now >= ticket.giveUpAt) return false;
  if (ticket.presence === by) return true;
  const presence = world.get(["presence", "ns", ticket.presence]) as PresenceRecord | undefined;
  return presence !== undefined && world.now < presence.aliveUntil;
}

/** I12: nobody is granted past an earlier live ticket that conflicts. */
function checkPassing(
  world: World,
  commit: {
    readonly name: string;
    readonly old: LockRecord | undefined;
    readonly record: LockRecord;
    readonly by: string;
  },
): void {
  const { name, old, record, by } = commit;
  const fresh = record.grants.filter(
    ({ id }) => old?.grants.every((each) => each.id !== id) ?? true,
  );
  for (const grant of fresh) {
    const place = old?.queue.find(({ id }) => id === grant.id)?.number ?? Infinity;
    const passed = record.queue.find(
      (ticket) =>
        (ticket.upgrades !== undefined || ticket.number < place) &&
        conflict(ticket, grant) &&
        isAlive(world, ticket, by),
    );
    if (passed !== undefined) fail("I12", `${grant.id} passed ${passed.id} on ${name}`);
  }
}

/** I13: no live ticket leaves the queue but by a grant or by giving up. */
function checkDropped(
  world: World,
  { by, quits }: Scene,
  old: LockRecord | undefined,
  { queue, grants }: LockRecord,
): void {
  for (const ticket of old?.queue ?? []) {
    const { id, upgrades } = ticket;
    if (queue.some((each) => each.id === id) || grants.some((each) => each.id === id)) continue;
    if (quits.has(id) || !isAlive(world, ticket, by)) continue;
    const lease = grants.find((grant) => grant.id === upgrades);
    const isOver = lease === undefined || !isLive(world, lease) || lease.mode === "exclusive";
    if (upgrades !== undefined && isOver) continue;
    fail("I13", `${id} was dropped`);
  }
}

/** I17: one wish to upgrade at most, before all tickets. */
function checkWish(name: string, { queue }: LockRecord): void {
  const wishes = queue.filter(({ upgrades }) => upgrades !== undefined);
  if (wishes.length > 1 || (wishes.length === 1 && queue[0] !== wishes[0])) {
    fail("I17", `wishes on ${name}`);
  }
}

/** I14, I15: a batch stands in all its queues or in none, and is granted at once on all locks. */
function checkBatches(world: World, before: Before, after: Before): void {
  const batches = world
    .keys("batch")
    .map((key) => world.get(key.split("/")) as unknown as BatchRecord);
  const known = new Map(batches.map((batch) => [batch.ticket, batch]));
  for (const { ticket, items } of batches) {
    for (const { name, number } of items) {
      const stands = after
        .get(name)
        ?.queue.some((each) => each.id === ticket && each.number === number);
      if (stands !== true) fail("I15", `${ticket} does not stand on ${name}`);
    }
  }
  for (const [name, record] of after) {
    const single = record?.queue.find(({ id, size }) => size > 1 && !known.has(id));
    if (single !== undefined) fail("I15", `${single.id} stands on ${name} alone`);
    for (const grant of record?.grants ?? []) {
      const isNew = before.get(name)?.grants.every(({ id }) => id !== grant.id) ?? true;
      if (!isNew || grant.size <= 1) continue;
      const parts = [...after.values()].filter((each) =>
        each?.grants.some(({ id }) => id === grant.id),
      );
      if (parts.length !== grant.size) fail("I14", `${grant.id} was granted by halves`);
    }
  }
}

/** I16: tickets that share several locks stand in the same order on all of them. */
function checkOrder(after: Before): void {
  const order = new Set<string>();
  for (const [name, record] of after) {
    for (const [one, other] of pairsOf(record?.queue ?? [])) {
      if (order.has(`${other} ${one}`)) fail("I16", `${one} and ${other} on ${name}`);
      order.add(`${one} ${other}`);
    }
  }
}

/** Every two tickets of a queue in their order; a wish to upgrade has a place of its own. */
function pairsOf(queue: readonly Ticket[]): readonly (readonly [string, string])[] {
  const ids = queue.filter(({ upgrades }) => upgrades === undefined).map(({ id }) => id);
  return ids.flatMap((one, index) => ids.slice(index + 1).map((other) => [one, other] as const));
}

/** I13: a live ticket that all of its locks would let in, although every due look is done. */
export function lostWakeUp(
  world: World,
  names: readonly string[],
  processes: ReadonlySet<string>,
): string | undefined {
  const records = new Map(names.map((name) => [name, recordOf(world, name)]));
  for (const record of records.values()) {
    for (const ticket of record?.queue ?? []) {
      // Nobody looks for the ticket of a process that is gone, though its presence is not over yet.
      if (!isAlive(world, ticket, "") || !processes.has(ticket.presence)) continue;
      const places = [...records.values()].filter((each) =>
        each?.queue.some(({ id }) => id === ticket.id),
      );
      if (places.every((place) => isFree(world, place as LockRecord, ticket.id))) return ticket.id;
    }
  }
  return undefined;
}

function isFree(world: World, { grants, queue }: LockRecord, id: string): boolean {
  const index = queue.findIndex((each) => each.id === id);
  const ticket = queue[index] as Ticket;
  const own = ticket.upgrades;
  const isHeld = grants.some(
    (grant) => grant.id !== own && world.now < grant.expiresAt && conflict(grant, ticket),
  );
  // A wish ends with its lease; the next decision on the lock drops it.
  const lease = grants.find((grant) => grant.id === own);
  if (own !== undefined && (lease === undefined || world.now >= lease.expiresAt)) return false;
  const ahead = queue.slice(0, index).filter((each) => isAlive(world, each, ""));
  return !isHeld && ahead.every((each) => !conflict(each, ticket));
}
