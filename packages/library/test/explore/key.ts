import type { Grant, LockRecord, Ticket } from "../../src/core/lock/record.ts";
import type { Client, Command, Packet, State, World } from "./state.ts";
import { faults } from "./state.ts";

/**
 * The canonical text of a state. Two states with the same text behave alike:
 *
 * - clients that follow the same script are interchangeable, so they are named by their own state;
 * - tokens count by their order up to the counter and by their distance above it;
 * - tickets count by their order, attempts by who refers to them;
 * - ends count as offsets from now, clipped where nothing depends on them any more.
 */
export function canonicalText(state: State, world: World): string {
  const locals = state.clients.map((client) => clientText(client, state, world));
  const order = locals.map((_, index) => index);
  order.sort((one, other) => {
    const [mine, others] = [locals[one] as string, locals[other] as string];
    return mine < others ? -1 : mine > others ? 1 : one - other;
  });
  const names = new Map<string, string>();
  order.forEach((index, rank) => nameClient(state.clients[index] as Client, rank, names));
  for (const packet of state.packets) namePacket(packet, order, names);
  const scene: Scene = { state, world, names, tokens: tokensOf(state) };
  const clients = order.map((index) => {
    const { lease } = state.clients[index] as Client;
    const token = lease === null ? "" : tokenText(scene, lease.grant.token);
    return `${locals[index]}#${token}`;
  });
  const store = `${lockText(scene, state.store.lock)}|${floorText(scene)}|${presencesText(scene)}`;
  const packets = state.packets.map((packet) => packetText(scene, packet, order)).toSorted();
  const budget = faults.map((fault) => state.budget[fault]).join("");
  return `${clients.join("&")}|${store}|${packets.join("&")}|${budget}${state.budget.total}|${
    state.isTampered ? 1 : 0
  }${tokenText(scene, state.highest)}`;
}

interface Scene {
  readonly state: State;
  readonly world: World;
  readonly names: ReadonlyMap<string, string>;
  readonly tokens: readonly number[];
}

/** What a client is without reference to the store. */
function clientText(client: Client, state: State, world: World): string {
  const { attempt, lease, call } = client;
  const mono = state.now - state.skew;
  let text = `${client.script}${client.power[0]}${client.asks}`;
  text += client.presence.length > 1 ? "m" : "";
  if (attempt !== null) {
    const { facts, waitEnd, due } = attempt;
    const left = waitEnd === null ? "i" : Math.max(0, waitEnd - mono);
    text += `a${facts.phase[0]}${bits(facts.mayBeStored, facts.isRepeat, facts.isWaitOver)}`;
    text += `${bits(facts.denial !== null, facts.number !== null)}${left}${due[0]}`;
  }
  if (lease !== null) {
    const { facts } = lease;
    const doubt = facts.doubtMs === null ? "" : clip(facts.doubtMs - mono, 0);
    text += `l${facts.phase[0]}${clip(facts.deadlineMs - mono, 0)},${doubt},${facts.leaseMs}`;
    text += `${facts.sent === null ? "" : sentText(facts.sent, mono)}${lease.isEnding ? "e" : ""}`;
  }
  text += `c${client.cancels.length}`;
  if (call !== null) {
    const sinceMs = Math.min(mono - call.sentAt, 2 * world.leaseMs);
    text += `w${commandText(call.command)}${sinceMs}`;
    text += call.outcome === null ? "" : outcomeText(call.outcome);
  }
  return text;
}

function sentText(sent: { readonly shortenedMs: number | null }, mono: number): string {
  const shortened = sent.shortenedMs === null ? "" : clip(sent.shortenedMs - mono, 0);
  return `s${shortened}`;
}

function bits(...values: readonly boolean[]): string {
  return values.map((value) => (value ? "1" : "0")).join("");
}

function clip(offset: number, least: number): number {
  return offset < least ? least : offset;
}

function nameClient(client: Client, rank: number, names: Map<string, string>): void {
  names.set(client.presence, `${rank}`);
  const { attempt, lease, call, cancels, cancelled } = client;
  if (lease !== null) names.set(lease.grant.id, `${rank}l`);
  if (attempt !== null) names.set(attempt.id, `${rank}a`);
  if (call !== null && "id" in call.command && !names.has(call.command.id)) {
    names.set(call.command.id, `${rank}w`);
  }
  cancels.forEach(({ id }, index) => {
    if (!names.has(id)) names.set(id, `${rank}c${index}`);
  });
  cancelled.forEach((id) => {
    if (!names.has(id)) names.set(id, `${rank}d`);
  });
}

/** Attempts that only something under way refers to. */
function namePacket(packet: Packet, order: readonly number[], names: Map<string, string>): void {
  const rank = order.indexOf(packet.client);
  if (!names.has(packet.presence)) names.set(packet.presence, `${rank}p`);
  if ("id" in packet.command && !names.has(packet.command.id)) {
    names.set(packet.command.id, `${rank}k`);
  }
}

function tokensOf({ store, clients, highest }: State): readonly number[] {
  const tokens = [highest, store.floor?.floor ?? 0, store.lock?.counter ?? 0];
  if (store.lock !== undefined) for (const { token } of store.lock.grants) tokens.push(token);
  for (const { lease } of clients) if (lease !== null) tokens.push(lease.grant.token);
  tokens.sort((one, other) => one - other);
  return tokens.filter((token, place) => token !== tokens[place - 1]);
}

function tokenText({ state, tokens }: Scene, token: number): string {
  const counter = state.store.lock?.counter ?? state.store.floor?.floor ?? 0;
  return token > counter
    ? `+${token - counter}`
    : `${tokens.indexOf(token) - tokens.indexOf(counter)}`;
}

function lockText(scene: Scene, lock: LockRecord | undefined): string {
  if (lock === undefined) return "-";
  const { world, state } = scene;
  const idle = Math.min(world.retentionMs, state.now - lock.touchedAt);
  const age = state.budget.sweep > 0 || world.budget.sweep !== undefined ? idle : 0;
  const grants = lock.grants.map((grant) => grantText(scene, grant)).join(";");
  const queue = lock.queue.map((ticket) => ticketText(scene, ticket)).join(";");
  return `${tokenText(scene, lock.counter)}:${grants}:${queue}:${endedText(scene, lock)}:${age}`;
}

function grantText(scene: Scene, grant: Grant): string {
  const { world, state, names } = scene;
  const past = world.budget.sweep === undefined ? 0 : world.retentionMs;
  const end = clip(grant.expiresAt - state.now, 0 - (grant.lockDelayMs as number) - past);
  const owner = names.get(grant.presence) ?? "?";
  const kind = grant.forced === undefined ? `${grant.state[0]}${grant.kind[0]}` : "f";
  const name = `${names.get(grant.id) ?? "x"}${owner}${kind}${grant.mode[0]}`;
  const change = changeText(scene, grant);
  return `${name}${tokenText(scene, grant.token)},${end},${grant.leaseMs},${grant.spanMs}${change}`;
}

/** The number of a change counts relative to what its holder and the packets would send. */
function changeText({ state }: Scene, grant: Grant): string {
  const numbers = state.clients.flatMap(({ lease }) =>
    lease?.grant.id === grant.id ? [lease.facts.nextChange] : [],
  );
  for (const { command } of state.packets) {
    if (command.do === "renew" && command.id === grant.id) numbers.push(command.change);
  }
  return numbers.map((number) => (number < grant.change ? "<" : ">")).join("");
}

function ticketText({ state, names }: Scene, ticket: Ticket): string {
  const left = ticket.giveUpAt === null ? "i" : clip(ticket.giveUpAt - state.now, 0);
  const owner = names.get(ticket.presence) ?? "?";
  return `${names.get(ticket.id) ?? "x"}${owner}${ticket.mode[0]}${left}`;
}

/** Entries older than the oldest one that somebody refers to only take room: they are left out. */
function endedText({ names }: Scene, lock: LockRecord): string {
  const known = lock.ended.map(({ id, how }) => (names.has(id) ? `${names.get(id)}${how}` : "x"));
  const first = known.findIndex((each) => each !== "x");
  return first < 0 ? "" : known.slice(first).join(",");
}

function floorText(scene: Scene): string {
  const { floor } = scene.state.store;
  return floor === undefined ? "-" : tokenText(scene, floor.floor);
}

function presencesText({ state, names }: Scene): string {
  const { presences } = state.store;
  const texts: string[] = [];
  for (const id in presences) {
    const record = presences[id];
    if (record === undefined) continue;
    texts.push(`${names.get(id) ?? "?"}${clip(record.aliveUntil - state.now, 0)}`);
  }
  if (texts.length > 1) texts.sort();
  return texts.join(",");
}

function commandText(command: Command): string {
  const {
    id: _id,
    token: _token,
    number: _number,
    change: _change,
    ...rest
  } = command as {
    readonly id?: string;
    readonly token?: number;
    readonly number?: number | null;
    readonly change?: number;
  };
  return JSON.stringify(rest);
}

function packetText(scene: Scene, packet: Packet, order: readonly number[]): string {
  const id = "id" in packet.command ? (scene.names.get(packet.command.id) ?? "x") : "";
  const who = `${order.indexOf(packet.client)}${scene.names.get(packet.presence) ?? "?"}${id}`;
  if (packet.kind === "echo") return `e${who}${commandText(packet.command)}`;
  const { store, now } = scene.state;
  // An awaited one that cannot commit any more is decided again from the beginning.
  const isStale = packet.reads.some(
    ({ kind, id: part, value }) => value !== undefined && currentOf(store, kind, part) !== value,
  );
  const early = Math.min(0, now - packet.decidedAt);
  if (isStale || now >= packet.validUntil) return `${who}${commandText(packet.command)}?`;
  const writes = packet.writes.map(({ key, value }) => {
    if (key[0] === "lock") return lockText(scene, (value ?? undefined) as LockRecord | undefined);
    return key[0] === "presence"
      ? `p${clip((value as { aliveUntil: number }).aliveUntil - now, 0)}`
      : key[0];
  });
  // A read of an absent record can become valid again; any other that differs was dropped before.
  const reads = packet.reads.map(({ kind, id: part, value }) =>
    value === undefined ? `${kind}${currentOf(store, kind, part) === undefined ? 1 : 0}` : "",
  );
  const until = Number.isFinite(packet.validUntil) ? packet.validUntil - now : "";
  return `${who}${early}${commandText(packet.command)}${writes.join("!")}${reads.join("")}${until}${
    packet.isAwaited ? "w" : ""
  }`;
}

export function currentOf(store: State["store"], kind: string, id: string): unknown {
  if (kind === "lock") return store.lock;
  return kind === "floor" ? store.floor : store.presences[id];
}

/** Members of an outcome that decide nothing, or that its client knows. */
const forgotten: ReadonlySet<string> = new Set([
  "denial",
  "id",
  "token",
  "number",
  "expectedEnd",
  "grantedAt",
  "grant",
  "by",
  "reason",
]);

/** An outcome held back: only its kind and its ends matter to the one who gets it. */
function outcomeText(outcome: unknown): string {
  const { result, now } = outcome as { readonly result: unknown; readonly now: number };
  if (typeof result !== "object" || result === null) return String(result);
  return JSON.stringify(result, (name, value: unknown) => {
    if (forgotten.has(name)) return undefined;
    return name === "expiresAt" ? (value as number) - now : value;
  });
}

/** 53 bits of the text: two different 32-bit hashes, of which 21 bits of the second are used. */
export function hashOf(text: string): number {
  let one = 0x81_1c_9d_c5;
  let two = 0x9e_37_79_b9;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    one = Math.imul(one ^ unit, 0x01_00_01_93);
    two = Math.imul(two ^ unit, 0x85_eb_ca_6b);
    two = (two << 13) | (two >>> 19);
  }
  one = Math.imul(one ^ (one >>> 15), 0xc2_b2_ae_35);
  two = Math.imul(two ^ (two >>> 16), 0x27_d4_eb_2f);
  return ((two >>> 11) >>> 0) * 0x1_00_00_00_00 + ((one ^ (one >>> 13)) >>> 0);
}
