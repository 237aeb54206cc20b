import { Violation } from "./engine.ts";
import { canonicalText, hashOf } from "./key.ts";
import { arrive, replied, runCommand, withClient, type Stage } from "./run-command.ts";
import type { Client, State } from "./state.ts";
import { innerSteps, nextInstant, sendingsOf, wait } from "./steps.ts";

/** Rounds within which every call must have ended once no further fault strikes. */
const roundsMax = 60;

/** Checks one state, of which the hash of the canonical text is known. */
export interface Liveness {
  readonly check: (state: State, key: number) => void;
}

/**
 * Liveness: from a state on no fault strikes any more and every client gets its turn (weak
 * fairness). Then each call ends, each live waiter without limit is granted, and nothing of a call
 * that has ended is left in the store (I13, I18, I19, I20, I24). The turns are taken in the order
 * of the clients; a state from which all is known to end well is remembered, so each costs one
 * round.
 */
export function liveness(stage: Stage): Liveness {
  const good = new Set<number>();
  return { check };

  function check(start: State, key: number): void {
    if (good.has(key)) return;
    const trail: string[] = [];
    try {
      run(start, key, trail);
    } catch (error) {
      if (error instanceof Violation) error.trail = ["(no fault strikes any more)", ...trail];
      throw error;
    }
  }

  function run(start: State, startKey: number, trail: string[]): void {
    const path: number[] = [];
    let [state, key] = [start, startKey];
    for (let round = 0; round < roundsMax; round += 1) {
      if (isQuiet(state)) {
        checkLeftovers(state);
        break;
      }
      const moved = fairRound(stage, state, trail);
      const movedKey = keyOf(moved);
      path.push(key);
      const isStill = movedKey === key;
      state = isStill ? fairWait(stage, moved, trail) : moved;
      key = isStill ? keyOf(state) : movedKey;
      if (good.has(key)) break;
      if (round === roundsMax - 1) throw new Violation(parked(state));
    }
    good.add(key);
    for (const each of path) good.add(each);
  }

  function keyOf(state: State): number {
    return hashOf(canonicalText(state, stage.world));
  }
}

function parked(state: State): string {
  const waiting = state.clients.filter(({ power, attempt }) => power === "up" && attempt !== null);
  const isPending = state.store.lock?.grants.some((grant) => grant.state === "pending") === true;
  if (isPending) return "I19: a pending grant is neither confirmed nor withdrawn";
  return waiting.some(({ attempt }) => attempt?.facts.phase === "queued")
    ? "I20: a live waiter is parked for ever"
    : "I18: a call never settles";
}

function isQuiet(state: State): boolean {
  return state.clients.every(
    ({ power, attempt, lease, cancels, call }) =>
      power === "dead" ||
      (power === "up" &&
        attempt === null &&
        lease === null &&
        call === null &&
        cancels.length === 0),
  );
}

/** I24 and I33: what the store still holds of clients that want nothing any more. */
function checkLeftovers({ clients, store, now }: State): void {
  const alive = new Set(
    clients.filter(({ power }) => power === "up").map(({ presence }) => presence),
  );
  const grant = store.lock?.grants.find(
    ({ presence, kind, expiresAt, forced }) =>
      alive.has(presence) && kind === "lease" && forced === undefined && now < expiresAt,
  );
  if (grant !== undefined) throw new Violation("I24: a grant is left that nobody knows of");
  const ticket = store.lock?.queue.find(({ presence }) => alive.has(presence));
  if (ticket !== undefined) throw new Violation("I24: a ticket is left for which nobody waits");
}

/** Every client that lives does what it has to do, and what is under way arrives. */
function fairRound(stage: Stage, start: State, trail: string[]): State {
  let state = start;
  for (let index = 0; index < start.clients.length; index += 1) {
    state = fairTurn(stage, { state, index, trail });
  }
  while (state.packets.length > 0) {
    trail.push(`the ${state.packets[0]?.command.do} arrives late`);
    state = arrive(stage, state, 0);
  }
  return state;
}

/** Time passes, but never by so much that a presence could not be renewed in time. */
function fairWait(stage: Stage, state: State, trail: string[]): State {
  const at = nextInstant(stage, state);
  const soon = state.now + Math.floor(stage.world.presenceMs / 3);
  const until = at === null ? soon : Math.min(at, soon);
  trail.push(`time passes by ${until - state.now}`);
  return wait(stage, state, until);
}

interface Turn {
  readonly state: State;
  readonly index: number;
  readonly trail: string[];
}

function fairTurn(stage: Stage, { state: start, index, trail }: Turn): State {
  let state = start;
  const client = (): Client => state.clients[index] as Client;
  if (client().power === "dead") return state;
  if (client().power === "paused") state = withClient(state, index, { ...client(), power: "up" });
  const { call } = client();
  if (call !== null && call.outcome !== null) state = replied(stage, state, index, call);
  if (call !== null && call.outcome === null) {
    const place = state.packets.findIndex(
      (packet) => packet.kind === "commit" && packet.client === index && packet.isAwaited,
    );
    if (place >= 0) state = arrive(stage, state, place);
  }
  for (const { next } of innerSteps(stage, state, client())) {
    state = withClient(state, index, next());
  }
  for (const kind of ["cancel", "presence", "ask", "leave", "look", "release"] as const) {
    for (let times = 0; times < 3; times += 1) {
      const sending = sendingsOf(stage, state, client()).find(({ command }) => command.do === kind);
      if (sending === undefined || isStart(client(), sending.command)) break;
      trail.push(`${client().presence} ${sending.label}`);
      state = runCommand(stage, withClient(state, index, sending.client), index, {
        command: sending.command,
        course: "done",
      });
      if (kind === "look") break;
    }
  }
  return state;
}

function isStart(client: Client, command: { readonly do: string }): boolean {
  return client.attempt === null && command.do === "ask";
}
