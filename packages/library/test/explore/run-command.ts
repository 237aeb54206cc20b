import type { Outcome } from "../../src/core/lock/outcome.ts";
import { onFailure, onReply, type Failure, type Sight } from "./client.ts";
import {
  commit,
  decideOf,
  isUnchanged,
  make,
  mayStillCommit,
  Violation,
  type Made,
} from "./engine.ts";
import type { Machine } from "./machine.ts";
import type { Budget, Client, Command, Fault, Packet, State, World } from "./state.ts";

/** How an engine call of a client goes. */
export type Course =
  | "done"
  | "failed"
  | "unknown-applied"
  | "unknown-lost"
  | "unknown-delayed"
  | "slow"
  | "stale"
  | "doubled";

export const faultOf: Readonly<Record<Exclude<Course, "done">, Fault>> = {
  failed: "fail",
  "unknown-applied": "unknown",
  "unknown-lost": "unknown",
  "unknown-delayed": "unknown",
  slow: "slow",
  stale: "stale",
  doubled: "double",
};

/** The final decision at the end of a wait may take this much longer (L26). */
export const finalMs = 1_000;

export interface Stage {
  readonly machine: Machine;
  readonly world: World;
}

export function monoOf(state: State): number {
  return state.now - state.skew;
}

export function sightOf(stage: Stage, state: State): Sight {
  return { ...stage, mono: monoOf(state), highest: state.highest };
}

export function withClient(state: State, index: number, client: Client): State {
  return {
    ...state,
    clients: state.clients.map((each, place) => (place === index ? client : each)),
  };
}

export function spend(budget: Budget, fault: Fault): Budget {
  return { ...budget, [fault]: budget[fault] - 1, total: budget.total - 1 };
}

export function has(state: State, fault: Fault): boolean {
  return state.budget.total > 0 && state.budget[fault] > 0;
}

/** A client sends a command, and it goes as `course` says. */
export function runCommand(
  stage: Stage,
  before: State,
  index: number,
  { command, course }: { readonly command: Command; readonly course: Course },
): State {
  const isChange = command.do === "renew" && command.how !== "keep";
  const changed = isChange ? { ...before, budget: spend(before.budget, "change") } : before;
  const state =
    course === "done" ? changed : { ...changed, budget: spend(changed.budget, faultOf[course]) };
  const client = state.clients[index] as Client;
  if (course === "failed") return failed(stage, state, index, { command, failure: "none" });
  const made = makeFor(stage, state, index, command);
  const sentAt = monoOf(state);
  switch (course) {
    case "done": {
      const next = committed(stage, state, client.presence, { command, made });
      return replied(stage, next, index, { command, sentAt, outcome: made.decided.outcome });
    }
    case "slow": {
      const next = committed(stage, state, client.presence, { command, made });
      const call = { command, sentAt, outcome: made.decided.outcome };
      return withClient(next, index, { ...(next.clients[index] as Client), call });
    }
    case "stale": {
      const call = { command, sentAt, outcome: null };
      const packets = [...state.packets, packetOf({ made, index, command, state }, true)];
      return withClient({ ...state, packets }, index, { ...client, call });
    }
    case "doubled": {
      const next = committed(stage, state, client.presence, { command, made });
      const again = command.do === "ask" ? { ...command, isRepeat: true } : command;
      const { presence } = client;
      const packets = [...next.packets, { kind: "echo", client: index, presence, command: again }];
      const doubled = { ...next, packets: packets as readonly Packet[] };
      return replied(stage, doubled, index, { command, sentAt, outcome: made.decided.outcome });
    }
    case "unknown-applied":
    case "unknown-delayed":
    case "unknown-lost":
      return unknown(stage, state, index, { command, course, made });
  }
}

function unknown(
  stage: Stage,
  state: State,
  index: number,
  {
    command,
    course,
    made,
  }: { readonly command: Command; readonly course: Course; readonly made: Made },
): State {
  const client = state.clients[index] as Client;
  if (course === "unknown-lost" && stage.machine.engine.tellsUncommitted) {
    const { outcome } = made.decided;
    return replied(stage, state, index, { command, sentAt: monoOf(state), outcome });
  }
  const next =
    course === "unknown-applied"
      ? committed(stage, state, client.presence, { command, made })
      : course === "unknown-delayed"
        ? {
            ...state,
            packets: [...state.packets, packetOf({ made, index, command, state }, false)],
          }
        : state;
  return failed(stage, next, index, { command, failure: "unknown" });
}

function makeFor(stage: Stage, state: State, index: number, command: Command): Made {
  const client = state.clients[index] as Client;
  const { waitEnd } = client.attempt ?? { waitEnd: null };
  const sender = {
    presence: client.presence,
    script: stage.world.scripts[client.script] as World["scripts"][number],
    left: waitEnd === null ? null : Math.max(1, waitEnd - monoOf(state)),
  };
  return make(state, decideOf(stage.machine, stage.world, sender, command));
}

function packetOf(
  sent: {
    readonly made: Made;
    readonly index: number;
    readonly command: Command;
    readonly state: State;
  },
  isAwaited: boolean,
): Packet {
  const { made, index, command, state } = sent;
  const { writes, validUntil, outcome } = made.decided;
  return {
    kind: "commit",
    client: index,
    presence: (state.clients[index] as Client).presence,
    command,
    writes,
    reads: made.reads,
    outcome,
    isAwaited,
    counted: [],
    decidedAt: sent.state.now,
    validUntil: validUntil ?? Infinity,
  };
}

function committed(
  { machine }: Stage,
  state: State,
  presence: string,
  sent: { readonly command: Command; readonly made: Made; readonly decidedAt?: number | null },
): State {
  const { command, made, decidedAt = null } = sent;
  const { outcome } = made.decided;
  const deed = { presence, command, outcome, isEcho: false, decidedAt };
  const next = commit(machine, state, made.decided, deed);
  // A resume ends what an earlier holder believes in, by its nature (I9).
  return command.do === "resume" ? { ...next, isTampered: true } : next;
}

export function replied(
  stage: Stage,
  state: State,
  index: number,
  answer: { readonly command: Command; readonly sentAt: number; readonly outcome: unknown },
): State {
  const client = state.clients[index] as Client;
  if (client.power === "dead") return state;
  const { command } = answer;
  checkVerdict(state, client, answer);
  const next = onReply(client, command, sightOf(stage, state), answer);
  return withClient(state, index, next);
}

/** I32: a refusal of a try tells of a lock that was held or waited for in its own commit. */
function checkVerdict(
  { store }: State,
  { call }: Client,
  { command, outcome }: { readonly command: Command; readonly outcome: unknown },
): void {
  if (command.do !== "ask" || call !== null) return;
  const { result } = outcome as Outcome<{ readonly kind: string }>;
  if (result.kind !== "refused") return;
  const isFree =
    store.lock === undefined || store.lock.grants.length + store.lock.queue.length === 0;
  if (isFree) throw new Violation("I32: a try was refused on a free lock");
}

function failed(
  stage: Stage,
  state: State,
  index: number,
  { command, failure }: { readonly command: Command; readonly failure: Failure },
): State {
  const client = state.clients[index] as Client;
  const next = onFailure(client, command, sightOf(stage, state), failure);
  return withClient(state, index, next);
}

/** A packet arrives: commits when what it read is unchanged; an awaited one is decided again. */
export function arrive(stage: Stage, before: State, place: number): State {
  const packet = before.packets[place] as Packet;
  const state = { ...before, packets: before.packets.filter((_, each) => each !== place) };
  const { client: index, command, presence } = packet;
  if (packet.kind === "echo") return echoed(stage, state, packet);
  const isValid = isUnchanged(stage.machine, state.store, packet.reads) && isInTime(state, packet);
  const client = state.clients[index] as Client;
  if (!packet.isAwaited) {
    if (!isValid) return state;
    const deed = {
      presence,
      command,
      outcome: packet.outcome,
      isEcho: false,
      decidedAt: packet.decidedAt,
    };
    return commit(stage.machine, state, { writes: packet.writes, outcome: null }, deed);
  }
  if (client.power === "dead" || client.call === null) return state;
  // What the engine has given up is not decided again.
  const waitEnd = client.attempt?.waitEnd ?? Infinity;
  if (!isValid && monoOf(state) >= waitEnd + finalMs) {
    return failed(stage, state, index, { command, failure: "none" });
  }
  const made: Made = isValid
    ? { decided: { writes: packet.writes, outcome: packet.outcome }, reads: packet.reads }
    : makeFor(stage, state, index, command);
  const next = committed(stage, state, presence, {
    command,
    made,
    decidedAt: isValid ? packet.decidedAt : null,
  });
  const { sentAt } = client.call;
  return replied(stage, next, index, { command, sentAt, outcome: made.decided.outcome });
}

function isInTime(
  { now }: State,
  { decidedAt, validUntil }: Extract<Packet, { kind: "commit" }>,
): boolean {
  return now >= decidedAt && now < validUntil;
}

function echoed(stage: Stage, state: State, packet: Extract<Packet, { kind: "echo" }>): State {
  const { client: index, command, presence } = packet;
  const client = state.clients[index] as Client;
  const script = stage.world.scripts[client.script] as World["scripts"][number];
  const sender = { presence, script, left: script.waitMs };
  // What the store has forgotten is granted anew and ends by itself (section 11): no fault of it.
  if (command.do === "ask" && !isRemembered(state, command.id)) return state;
  const made = make(state, decideOf(stage.machine, stage.world, sender, command));
  const { outcome } = made.decided;
  const deed = { presence, command, outcome, isEcho: true, decidedAt: null };
  return commit(stage.machine, state, made.decided, deed);
}

function isRemembered({ store: { lock } }: State, id: string): boolean {
  const places = [lock?.grants ?? [], lock?.queue ?? [], lock?.ended ?? []];
  return places.some((place) => place.some((each) => each.id === id));
}

/** Forgets the packets that time has overtaken. */
export function withoutLatePackets(stage: Stage, state: State): State {
  const packets = state.packets.filter((packet) => mayStillCommit(stage.machine, state, packet));
  return packets.length === state.packets.length ? state : { ...state, packets };
}
