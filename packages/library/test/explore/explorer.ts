import { isHeld } from "./client.ts";
import { Violation } from "./engine.ts";
import { liveness } from "./fairness.ts";
import { canonicalText, hashOf } from "./key.ts";
import type { Stage } from "./run-command.ts";
import type { Budget, Client, State, World } from "./state.ts";
import { faults } from "./state.ts";
import { choicesOf, type Choice } from "./steps.ts";

/** What an exploration has found. */
export interface Report {
  readonly world: string;
  readonly states: number;
  readonly edges: number;
  readonly depth: number;
  readonly seconds: number;
  /** Whether every reachable state was visited, within the depth of the world. */
  readonly isComplete: boolean;
  readonly failure: Failure | null;
}

interface Failure {
  readonly broken: string;
  readonly trace: readonly string[];
}

export interface Bounds {
  readonly statesMax: number;
  /** Without the reduction each state stands for itself alone. */
  readonly isReduced?: boolean;
  /** Told of each state that is new. */
  readonly onState?: (state: State) => void;
  /** Asks for every state whether all calls end when no further fault strikes. */
  readonly isLivenessAsked?: boolean;
}

function initialState(world: World): State {
  const budget = Object.fromEntries(faults.map((fault) => [fault, world.budget[fault] ?? 0]));
  const clients = world.scripts.map(({ asks }, script): Client => ({
    script: sameScript(world, script),
    presence: "ABC"[script] as string,
    power: "up",
    asks,
    serial: 0,
    attempt: null,
    lease: null,
    cancels: [],
    call: null,
    cancelled: [],
  }));
  return {
    now: 1_000_000,
    skew: 0,
    store: {
      lock: undefined,
      floor: world.floor === 0 ? undefined : { v: 1, floor: world.floor },
      presences: {},
    },
    clients,
    packets: [],
    budget: { ...budget, total: world.budget.total } as Budget,
    highest: world.floor,
    isTampered: false,
  };
}

/** Clients with equal scripts share the first one's number: they are interchangeable. */
function sameScript(world: World, script: number): number {
  const text = JSON.stringify(world.scripts[script]);
  return world.scripts.findIndex((each) => JSON.stringify(each) === text);
}

/** Breadth first over all states of a world; stops at the first broken invariant. */
export function explore(stage: Stage, bounds: Bounds): Report {
  const started = performance.now();
  const { world } = stage;
  const seen = new Set<number | string>();
  const parents: number[] = [-1];
  const labels: string[] = [""];
  const isReduced = bounds.isReduced ?? true;
  const keyOf = (state: State): number | string =>
    isReduced ? hashOf(canonicalText(state, world)) : JSON.stringify(state);
  const fair = liveness(stage);
  let frontier: { readonly state: State; readonly index: number }[] = [];
  let [edges, depth] = [0, 0];
  const report = (failure: Failure | null, isComplete: boolean): Report => ({
    world: world.name,
    states: seen.size,
    edges,
    depth,
    isComplete,
    failure,
    seconds: Math.round((performance.now() - started) / 10) / 100,
  });
  const admit = (state: State, parent: number, label: string): void => {
    const key = keyOf(state);
    if (seen.has(key)) return;
    seen.add(key);
    const index = parent < 0 ? 0 : parents.push(parent) - 1;
    if (parent >= 0) labels.push(label);
    frontier.push({ state, index });
    bounds.onState?.(state);
    checkState(stage, state);
    if (bounds.isLivenessAsked === true && typeof key === "number") fair.check(state, key);
  };
  const traceOf = (index: number): readonly string[] => {
    const trace: string[] = [];
    for (let at = index; at > 0; at = parents[at] as number) trace.push(labels[at] as string);
    return trace.toReversed();
  };
  /** Follows a choice; gives the broken invariant, if there is one. */
  const follow = ({ label, run }: Choice, index: number): Failure | null => {
    edges += 1;
    try {
      admit(run(), index, label);
      return null;
    } catch (error) {
      const trail = error instanceof Violation ? error.trail : [];
      return { broken: brokenOf(error), trace: [...traceOf(index), label, ...trail] };
    }
  };
  /** Follows every choice of a state, until one breaks an invariant or the bound is reached. */
  const expand = ({ state, index }: (typeof frontier)[number]): Failure | null => {
    for (const choice of choicesOf(stage, state)) {
      const failure = follow(choice, index);
      if (failure !== null || seen.size >= bounds.statesMax) return failure;
    }
    return null;
  };
  admit(initialState(world), -1, "");
  while (frontier.length > 0 && depth < world.depthMax) {
    const layer = frontier;
    frontier = [];
    for (const each of layer) {
      const failure = expand(each);
      if (failure !== null || seen.size >= bounds.statesMax) return report(failure, false);
    }
    depth += 1;
  }
  return report(null, frontier.length === 0);
}

function brokenOf(error: unknown): string {
  if (error instanceof Violation) return error.message;
  return `I18: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

/** What must be true of every state, whatever step led to it. */
function checkState({ machine }: Stage, state: State): void {
  const mono = state.now - state.skew;
  const { lock } = state.store;
  for (const client of state.clients) {
    for (const id of client.cancelled) {
      const isBack =
        lock?.grants.some((grant) => grant.id === id) === true ||
        lock?.queue.some((ticket) => ticket.id === id) === true;
      if (isBack) throw new Violation("I24: a cancelled attempt has been committed");
    }
    if (state.isTampered || client.power === "dead" || !isHeld(client, machine, mono)) continue;
    const own = lock?.grants.find(({ id }) => id === client.lease?.grant.id);
    if (own === undefined || state.now >= own.expiresAt) {
      throw new Violation(`I9: ${client.presence} believes in a lease that others may take`);
    }
  }
}
