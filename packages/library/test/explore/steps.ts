import { commit, make, scopeOf, lockName, Violation } from "./engine.ts";
import { take } from "./client.ts";
import {
  arrive,
  faultOf,
  finalMs,
  has,
  monoOf,
  replied,
  runCommand,
  sightOf,
  spend,
  withClient,
  withoutLatePackets,
  type Course,
  type Stage,
} from "./run-command.ts";
import type { Attempt, Client, Command, Fault, HeldLease, Script, State, World } from "./state.ts";

/** One choice that the world has in a state. `run` may throw a {@link Violation}. */
export interface Choice {
  readonly label: string;
  readonly run: () => State;
}

/**
 * Everything that may happen next: a client acts, a packet arrives, a fault strikes, time passes.
 */
export function choicesOf(stage: Stage, state: State): readonly Choice[] {
  const choices: Choice[] = [];
  state.clients.forEach((client, index) => {
    if (client.power === "up") clientChoices(stage, state, index, choices);
    if (client.power !== "dead") faultChoices(stage, state, index, choices);
  });
  state.packets.forEach((packet, place) => {
    const label = `the ${packet.command.do} of ${packet.presence} arrives late`;
    choices.push({ label, run: () => arrive(stage, state, place) });
  });
  outsideChoices(stage, state, choices);
  const at = isUrgent(state) ? null : nextInstant(stage, state);
  if (at !== null) {
    choices.push({ label: `time passes by ${at - state.now}`, run: () => wait(stage, state, at) });
  }
  return choices;
}

/**
 * Whether a running client has something to do at the end of its wait before time goes on: timers
 * that are late belong to world 9. An engine call may still be slow, and a client be paused.
 */
function isUrgent(state: State): boolean {
  return state.clients.some(
    ({ power, attempt, call }) =>
      power === "up" &&
      call === null &&
      attempt !== null &&
      attempt.waitEnd !== null &&
      monoOf(state) >= attempt.waitEnd,
  );
}

/** What a client would send now, with the client as it is when it has sent that. */
export interface Sending {
  readonly label: string;
  readonly command: Command;
  readonly client: Client;
}

function clientChoices(stage: Stage, state: State, index: number, choices: Choice[]): void {
  const client = state.clients[index] as Client;
  for (const sending of sendingsOf(stage, state, client)) {
    const isTry = stage.world.scripts[client.script]?.waitMs === 0;
    for (const course of coursesOf(state, sending.command)) {
      // A doubled try may be granted to nobody; such a grant ends by itself (section 11).
      if (course === "doubled" && sending.command.do === "ask" && isTry) continue;
      if (course === "doubled" && client.presence.length > 1) continue;
      const label = `${client.presence} ${sending.label}${course === "done" ? "" : `, ${course}`}`;
      const { command } = sending;
      const run = (): State =>
        runCommand(stage, withClient(state, index, sending.client), index, { command, course });
      choices.push({ label, run });
    }
  }
  const { call } = client;
  if (call !== null && call.outcome !== null) {
    const label = `${client.presence} gets the answer to its ${call.command.do}`;
    choices.push({ label, run: () => replied(stage, state, index, call) });
  }
  for (const { label, next } of innerSteps(stage, state, client)) {
    choices.push({
      label: `${client.presence} ${label}`,
      run: () => withClient(state, index, next()),
    });
  }
}

const courses: readonly Course[] = [
  ...(["done", "failed", "unknown-applied", "unknown-lost", "unknown-delayed"] as const),
  ...(["slow", "stale", "doubled"] as const),
];

function coursesOf(state: State, command: Command): readonly Course[] {
  return courses.filter((course) => {
    if (course === "done") return true;
    if (!has(state, faultOf[course])) return false;
    if (course === "slow" || course === "stale") return command.do !== "presence";
    return course !== "doubled" || ["ask", "renew", "release"].includes(command.do);
  });
}

/** The commands that a client may send in its state. */
export function sendingsOf(stage: Stage, state: State, client: Client): readonly Sending[] {
  const sendings: Sending[] = [];
  const [cancel] = client.cancels;
  if (cancel !== undefined) {
    sendings.push({ label: "cancels", command: { do: "cancel", ...cancel }, client });
  }
  if (client.call !== null) return sendings;
  if (client.attempt === null && client.lease === null && client.asks > 0) {
    sendings.push(starting(stage, state, client));
  }
  const script = stage.world.scripts[client.script] as Script;
  if (script.kind === "claim" && state.store.lock?.grants.some(isClaim) === true) {
    sendings.push({ label: "releases the claim", command: { do: "releaseClaim" }, client });
  }
  if (client.attempt !== null) sendings.push(...waiting(stage, state, client, client.attempt));
  if (client.lease !== null) sendings.push(...holding(stage, state, client, client.lease));
  return sendings;
}

function starting(stage: Stage, state: State, client: Client): Sending {
  const script = stage.world.scripts[client.script] as Script;
  const serial = client.serial + 1;
  const id = `${client.presence[0]}${serial}`;
  // A try does not wait: it is repeated until it is answered.
  const waitEnd = (script.waitMs ?? 0) === 0 ? null : monoOf(state) + (script.waitMs ?? 0);
  const facts = stage.machine.attempt.newAttempt;
  const attempt: Attempt = { id, facts, waitEnd, due: "nothing" };
  const asking: Client = { ...client, serial, asks: client.asks - 1, attempt };
  const claim = state.store.lock?.grants.find(isClaim);
  const isResume = script.kind === "claim" && claim?.owner === script.owner;
  if (isResume) return { label: "resumes", command: { do: "resume", id }, client: asking };
  return { label: "asks", command: { do: "ask", id, isRepeat: false }, client: asking };
}

function isClaim({ kind }: { readonly kind: string }): boolean {
  return kind !== "lease";
}

function waiting(stage: Stage, state: State, client: Client, attempt: Attempt): readonly Sending[] {
  const { id, facts, due, waitEnd } = attempt;
  const sent: Client = { ...client, attempt: { ...attempt, due: "nothing" } };
  if (facts.phase === "asking" && due === "ask") {
    // The engine refuses calls that are later than this, so the call ends without an answer.
    if (waitEnd !== null && monoOf(state) >= waitEnd + finalMs) return [];
    return [
      { label: "asks again", command: { do: "ask", id, isRepeat: facts.isRepeat }, client: sent },
    ];
  }
  const number = facts.number ?? 0;
  if (facts.phase === "leaving" && due === "leave") {
    return [{ label: "gives up", command: { do: "leave", id, number }, client }];
  }
  if (facts.phase !== "queued") return [];
  const look: Sending = { label: "looks", command: { do: "look", id, number }, client };
  const presence = state.store.presences[client.presence];
  const left = presence === undefined ? 0 : presence.aliveUntil - state.now;
  if (left > stage.world.presenceMs / 2) return [look];
  return [look, { label: "renews its presence", command: { do: "presence" }, client }];
}

function holding(
  { machine, world }: Stage,
  state: State,
  client: Client,
  lease: HeldLease,
): readonly Sending[] {
  const { id, token } = lease.grant;
  const mono = monoOf(state);
  const facts = machine.lease.observe(lease.facts, mono);
  const how = facts.phase === "lost" ? "lost" : "released";
  const ended = facts.phase === "lost" ? facts : machine.lease.release(facts);
  const ending: Client = { ...client, lease: { ...lease, facts: ended, isEnding: true } };
  const label = facts.phase === "lost" ? "drops its lost lease" : "releases";
  const sendings: Sending[] = [{ label, command: { do: "release", id, how }, client: ending }];
  if (machine.lease.isOver(facts) || facts.sent !== null) return sendings;
  for (const { how: change, lengthMs } of changesOf(world, state, facts.leaseMs)) {
    const isSet = change === "set" && lengthMs !== null;
    const shortening = isSet ? { lengthMs, clockErrorMs: 0 } : null;
    const sent = machine.lease.changeSent(facts, mono, shortening);
    const numbered = { do: "renew", id, token, change: facts.nextChange } as const;
    sendings.push({
      label: `renews (${change}${isSet ? ` ${lengthMs}` : ""})`,
      command: { ...numbered, how: change, lengthMs },
      client: { ...client, lease: { ...lease, facts: sent } },
    });
  }
  return sendings;
}

interface Change {
  readonly how: "keep" | "set" | "extend";
  readonly lengthMs: number | null;
}

/** How a holder may change the end of its lease: as the keeper does, shorter, longer, or not. */
function changesOf(world: World, state: State, leaseMs: number): readonly Change[] {
  const keep: readonly Change[] = world.isRenewed ? [{ how: "keep", lengthMs: null }] : [];
  if (!has(state, "change")) return keep;
  const other = leaseMs === world.leaseMs ? world.shortMs : world.leaseMs;
  return [...keep, { how: "set", lengthMs: other }, { how: "extend", lengthMs: 0 }];
}

interface InnerStep {
  readonly label: string;
  readonly next: () => Client;
}

/** Steps that a client makes without the engine. */
export function innerSteps(stage: Stage, state: State, client: Client): readonly InnerStep[] {
  const { attempt, call } = client;
  if (attempt === null || attempt.facts.phase === "settled") return [];
  const { facts, waitEnd } = attempt;
  const steps = stage.machine.attempt;
  const about = { sight: sightOf(stage, state), sentAt: monoOf(state) };
  if (waitEnd === null || monoOf(state) < waitEnd) return [];
  const inner: InnerStep[] = [];
  if (facts.phase === "queued") {
    inner.push({ label: "has waited", next: () => take(client, steps.onWaitOver(facts), about) });
  } else if (call !== null || monoOf(state) >= waitEnd + finalMs) {
    const over = { ...facts, isWaitOver: true };
    inner.push({ label: "gets no answer", next: () => take(client, steps.noAnswer(over), about) });
  }
  return inner;
}

function faultChoices(stage: Stage, state: State, index: number, choices: Choice[]): void {
  const client = state.clients[index] as Client;
  const { presence, power } = client;
  const add = (fault: Fault, label: string, next: () => Client): void => {
    if (!has(state, fault)) return;
    const budget = spend(state.budget, fault);
    choices.push({ label, run: () => withClient({ ...state, budget }, index, next()) });
  };
  if (power === "paused") {
    const awake = (): State => withClient(state, index, { ...client, power: "up" });
    choices.push({ label: `${presence} goes on`, run: awake });
  } else {
    add("pause", `${presence} is paused`, () => ({ ...client, power: "paused" }));
  }
  add("crash", `${presence} crashes`, () => ({ ...client, power: "dead", ...nothing }));
  const { attempt } = client;
  if (power !== "up" || attempt === null || attempt.facts.phase === "settled") return;
  const about = { sight: sightOf(stage, state), sentAt: monoOf(state) };
  add("abort", `${presence} aborts`, () =>
    take(client, stage.machine.attempt.onGivenUp(attempt.facts), about),
  );
  // A doubled ask that arrives after the move would take the place back: nothing in a request says
  // which of two servers is the later one. The world therefore never has both.
  const isDoubled = state.packets.some(({ kind, client: by }) => kind === "echo" && by === index);
  if (has(state, "move") && presence.length === 1 && client.call === null && !isDoubled) {
    choices.push({
      label: `${presence} goes on to another server`,
      run: () => move(stage, state, index),
    });
  }
}

const nothing = { attempt: null, lease: null, cancels: [], call: null } as const;

/** The caller repeats its attempt at another server; the first one cancels when it notices. */
function move({ machine }: Stage, state: State, index: number): State {
  const client = state.clients[index] as Client;
  const { presence, attempt } = client;
  if (attempt === null) return state;
  const { id, facts } = attempt;
  const command: Command = { do: "cancel", id, number: facts.number };
  const echo = { kind: "echo", client: index, presence, command } as const;
  const anew = { ...machine.attempt.newAttempt, isRepeat: true, denial: facts.denial };
  const moved: Client = {
    ...client,
    presence: `${presence}2`,
    attempt: { ...attempt, facts: anew, due: "ask" },
  };
  const next = withClient(state, index, moved);
  return { ...next, packets: [...state.packets, echo], budget: spend(state.budget, "move") };
}

/** The sweep, an administrator, and what happens to the store from outside. */
function outsideChoices(stage: Stage, state: State, choices: Choice[]): void {
  const { machine, world } = stage;
  const { lock } = state.store;
  const scope = scopeOf(world, "S");
  const add = (fault: Fault, label: string, run: (state: State) => State): void => {
    if (!has(state, fault)) return;
    const spent = { ...state, budget: spend(state.budget, fault) };
    choices.push({ label, run: () => run(spent) });
  };
  const retention = { freeMs: world.retentionMs, claimMs: world.retentionMs, auditMs: 1 };
  const verdict =
    lock === undefined ? "keep" : machine.sweep.sweepVerdict(lock, state.now, retention, 0);
  if (verdict !== "keep") add("sweep", "the sweep comes", (spent) => sweep(stage, spent, verdict));
  if (lock !== undefined) {
    add("delete", "the record is deleted from outside", (spent) => ({
      ...spent,
      store: { ...spent.store, lock: undefined },
      isTampered: true,
    }));
  }
  add("raise", "the floor is raised", (spent) => {
    const to = (spent.store.lock?.counter ?? 0) + 2;
    const raised = act(stage, spent, (snapshot) =>
      machine.sweep.decideRaiseFloor(snapshot, { scope, to }),
    );
    const named = { scope, to, name: lockName };
    return act(stage, raised, (snapshot) => machine.sweep.decideRaiseCounter(snapshot, named));
  });
  add("stepBack", "engine time steps back", (spent) => {
    const backMs = 10 * world.leaseMs;
    return { ...spent, now: spent.now - backMs, skew: spent.skew - backMs };
  });
  if (lock !== undefined && lock.grants.length > 0) {
    add("force", "an administrator forces the lock", (spent) => {
      const forced = { scope, name: lockName, token: null, reason: "r", isWithoutDelay: false };
      const next = act(
        stage,
        spent,
        (snapshot) => machine.force.decideForce(snapshot, forced),
        true,
      );
      return { ...next, isTampered: true };
    });
  }
  const sixth = state.packets.length > 6;
  if (sixth) throw new Violation("the world has more packets under way than it is made for");
}

function sweep(stage: Stage, state: State, verdict: "delete" | "advance"): State {
  const { machine, world } = stage;
  const scope = scopeOf(world, "S");
  const retention = { freeMs: world.retentionMs, claimMs: world.retentionMs, auditMs: 1 };
  return act(stage, state, (snapshot) =>
    verdict === "delete"
      ? machine.sweep.decideSweep(snapshot, { scope, names: [lockName], retention })
      : machine.sweep.decideAdvance(snapshot, { scope, name: lockName }),
  );
}

function act(
  { machine }: Stage,
  state: State,
  decide: Parameters<typeof make>[1],
  isForce = false,
): State {
  const { decided } = make(state, decide);
  const { outcome } = decided;
  const command = isForce ? ({ do: "force" } as const) : null;
  const deed = { presence: "S", command, outcome, isEcho: false, decidedAt: null };
  return commit(machine, state, decided, deed);
}

/** The next instant at which anything can change by itself; null when there is none. */
export function nextInstant({ machine, world }: Stage, state: State): number | null {
  const { lock, presences } = state.store;
  let next = Infinity;
  const see = (at: number): void => {
    if (at > state.now && at < next) next = at;
  };
  for (const grant of lock?.grants ?? []) {
    see(grant.expiresAt);
    if (grant.state === "held") see(grant.expiresAt + grant.lockDelayMs);
    if (state.budget.sweep > 0) see(grant.expiresAt + world.retentionMs);
  }
  for (const ticket of lock?.queue ?? []) if (ticket.giveUpAt !== null) see(ticket.giveUpAt);
  for (const record of Object.values(presences)) if (record !== undefined) see(record.aliveUntil);
  if (lock !== undefined && state.budget.sweep > 0) see(lock.touchedAt + world.retentionMs);
  for (const { attempt, lease } of state.clients) {
    if (attempt !== null && attempt.waitEnd !== null) {
      see(attempt.waitEnd + state.skew);
      see(attempt.waitEnd + finalMs + state.skew);
    }
    if (lease !== null && !machine.lease.isOver(lease.facts)) {
      see(machine.lease.effectiveDeadline(lease.facts) + state.skew);
    }
  }
  return Number.isFinite(next) ? next : null;
}

export function wait(stage: Stage, state: State, at: number): State {
  return withoutLatePackets(stage, { ...state, now: at });
}
