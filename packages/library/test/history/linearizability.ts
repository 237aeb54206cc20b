import { conflicts } from "../../src/core/lock/validity.ts";
import type { Mode } from "../../src/core/lock/record.ts";
import {
  callText,
  type AcquireCall,
  type GrantedCall,
  type RecordedCall,
} from "./recorded-call.ts";

/**
 * Whether a history of calls can be put into one order that a sequential lock would answer alike,
 * each call at an instant between its beginning and its end (I32). The search is that of Wing and
 * Gong (1993), with the memory of visited configurations of Lowe (2017), lock by lock.
 *
 * The sequential lock is {counter, live grants with their modes}, with an expiry step for each
 * grant that may come once its last known length is over. Three things keep the search short, and
 * none of them changes its verdict:
 *
 * - Tokens rise, so of all grants only the one with the lowest token left can be next.
 * - An expiry is taken when a call needs it: taken sooner it could only forbid.
 * - A call that changes nothing is placed as soon as its answer is right.
 *
 * An unknown renewal can only lengthen, so it is left out; an unknown release or force lets a grant
 * end from its beginning on; an unknown acquire can only keep others out, so it excuses a refusal
 * as long as its ticket or grant may stand. A waiting acquire excuses one until it is placed.
 */
export interface Verdict {
  readonly isLinearizable: boolean;
  /** Configurations that were visited. */
  readonly configurations: number;
  /** The calls of which one had to be next at the deepest point, when there is no order. */
  readonly stuck: readonly string[];
}

export interface SearchBounds {
  /** After so many configurations the history counts as not linearizable. */
  readonly configurationsMax: number;
}

const boundsDefault: SearchBounds = Object.freeze({ configurationsMax: 2_000_000 });
/** Ends are stored in whole milliseconds of engine time, so they may come a little sooner. */
const roundingMs = 2;

/** Judges all locks of a history; each is a partition of its own. */
export function linearize(
  calls: readonly RecordedCall[],
  bounds: SearchBounds = boundsDefault,
): Verdict {
  let configurations = 0;
  for (const ofName of Map.groupBy(calls, ({ name }) => name).values()) {
    const verdict = new Search(ofName, bounds).run();
    configurations += verdict.configurations;
    if (!verdict.isLinearizable) return { ...verdict, configurations };
  }
  return { isLinearizable: true, configurations, stuck: [] };
}

/** A live grant of the sequential lock. */
interface LiveGrant {
  readonly token: number;
  readonly mode: Mode;
  /** From this instant on its expiry step may come. */
  readonly mayEndMs: number;
}

interface LockState {
  readonly counter: number;
  readonly grants: readonly LiveGrant[];
}

/** One configuration of the search, and what is left to try from it. */
interface Frame {
  readonly state: LockState;
  /** Places of the calls that were placed on the way here, in their order. */
  readonly placed: readonly number[];
  readonly choices: readonly number[];
  next: number;
}

interface Waiter {
  /** Null for one that is not placed, because nobody knows whether it happened. */
  readonly place: number | null;
  readonly call: AcquireCall;
}

type Known = Exclude<RecordedCall, { readonly answer: "unknown" }>;

class Search {
  /** The calls that must be placed, by their beginning. */
  readonly #calls: readonly Known[];
  readonly #isPlaced: Uint8Array;
  /** Places of the calls by their end, and how many of them from the start are placed. */
  readonly #byEnd: readonly number[];
  readonly #ranks: readonly number[];
  #endedFrom = 0;
  /** Every call before this place is placed. */
  #from = 0;
  readonly #grants: readonly number[];
  #grantFrom = 0;
  /** Waiting and unknown requests, which excuse refusals. */
  readonly #waiters: readonly Waiter[];
  readonly #beside = new Map<AcquireCall, readonly Waiter[]>();
  /** The instant from which an unknown call may have ended a grant, by token; 0 for all. */
  readonly #mayEndMs = new Map<number, number>();
  readonly #bounds: SearchBounds;

  constructor(calls: readonly RecordedCall[], bounds: SearchBounds) {
    this.#bounds = bounds;
    const sorted = calls.toSorted((one, other) => one.calledMs - other.calledMs);
    this.#calls = sorted.filter((call): call is Known => call.answer !== "unknown");
    this.#isPlaced = new Uint8Array(this.#calls.length);
    const places = [...this.#calls.keys()];
    const endOf = (place: number): number => this.#call(place).returnedMs;
    this.#byEnd = places.toSorted((one, other) => endOf(one) - endOf(other));
    this.#ranks = ranksOf(this.#byEnd);
    this.#grants = places
      .filter((place) => isGranted(this.#call(place)))
      .toSorted((one, other) => this.#tokenAt(one) - this.#tokenAt(other));
    const answered = places.map((place) => ({ place, call: this.#call(place) as RecordedCall }));
    const unknown = sorted.filter(isUnknown).map((call) => ({ place: null, call }));
    this.#waiters = [...answered, ...unknown].flatMap(({ place, call }) =>
      isWaiter(call) ? [{ place, call }] : [],
    );
    for (const call of sorted.filter(isUnknown)) {
      const token = call.do === "release" ? call.token : 0;
      if (call.do !== "release" && call.do !== "force") continue;
      const earliestMs = this.#mayEndMs.get(token) ?? Infinity;
      this.#mayEndMs.set(token, Math.min(earliestMs, call.calledMs));
    }
  }

  run(): Verdict {
    const visited = new Set<string>();
    const frames: Frame[] = [];
    let deepest = -1;
    let stuck: readonly number[] = [];
    let placed = 0;
    let state: LockState | undefined = { counter: 0, grants: [] };
    while (visited.size < this.#bounds.configurationsMax) {
      if (state !== undefined) {
        const { state: settled, steps } = this.#placeIdle(state);
        placed += steps.length;
        const choices = this.#choices();
        if (this.#from === this.#calls.length) {
          return { isLinearizable: true, configurations: visited.size + 1, stuck: [] };
        }
        if (placed > deepest) {
          deepest = placed;
          stuck = this.#open();
        }
        const key = this.#keyOf(settled);
        const isNew = !visited.has(key);
        visited.add(key);
        frames.push({ state: settled, placed: steps, choices: isNew ? choices : [], next: 0 });
      }
      const frame = frames.at(-1);
      if (frame === undefined) break;
      state = this.#tryNext(frame);
      if (state !== undefined) {
        placed += 1;
        continue;
      }
      frames.pop();
      placed -= frame.placed.length + 1;
      this.#takeBack(frame.placed);
      // The choice by which this configuration was reached.
      const before = frames.at(-1);
      if (before !== undefined) this.#takeBack([before.choices[before.next - 1] as number]);
    }
    const texts = stuck.map((place) => callText(this.#call(place)));
    return { isLinearizable: false, configurations: visited.size, stuck: texts };
  }

  /** Places the next choice of a frame that is right in its state. */
  #tryNext(frame: Frame): LockState | undefined {
    while (frame.next < frame.choices.length) {
      const place = frame.choices[frame.next] as number;
      frame.next += 1;
      const after = this.#after(frame.state, place);
      if (after === undefined) continue;
      this.#put(place);
      return after;
    }
    return undefined;
  }

  /** Places every call that is right and keeps the others as free as they were. */
  #placeIdle(before: LockState): { readonly state: LockState; readonly steps: readonly number[] } {
    const steps: number[] = [];
    let state = before;
    for (;;) {
      const idle = this.#choices().find((place) => this.#isIdle(state, place));
      if (idle === undefined) return { state, steps };
      state = this.#after(state, idle) ?? state;
      this.#put(idle);
      steps.push(idle);
    }
  }

  #isIdle(state: LockState, place: number): boolean {
    const call = this.#call(place);
    if (call.do === "acquire") return call.answer === "fail" && this.#isExcused(state, call);
    if (call.do === "force") return false;
    const isLive = state.grants.some(({ token }) => token === call.token);
    if (call.do === "renew" && call.answer === "ok") return isLive;
    return call.answer === "fail" && !isLive;
  }

  /** The calls that are left and began before any of them has ended. */
  #open(): readonly number[] {
    const firstEndMs = this.#firstEndMs();
    const open: number[] = [];
    for (let place = this.#from; place < this.#calls.length; place += 1) {
      if (this.#call(place).calledMs > firstEndMs) break;
      if (this.#isPlaced[place] === 0) open.push(place);
    }
    return open;
  }

  /** The calls that may be next: of all open grants only the one with the lowest token left. */
  #choices(): readonly number[] {
    const nextGrant = this.#grants[this.#grantFrom];
    return this.#open().filter((place) => place === nextGrant || !isGranted(this.#call(place)));
  }

  /** The state after a call, or undefined when its answer is wrong there. */
  #after(state: LockState, place: number): LockState | undefined {
    const call = this.#call(place);
    if (call.calledMs > this.#firstEndMs()) return undefined;
    switch (call.do) {
      case "acquire":
        if (call.answer === "fail") return this.#isExcused(state, call) ? state : undefined;
        return this.#granted(state, call);
      case "renew": {
        const grant = state.grants.find(({ token }) => token === call.token);
        if (call.answer === "fail") return this.#without(state, grant);
        if (grant === undefined) return undefined;
        const endMs = call.calledMs + call.leaseMs - roundingMs;
        const renewed = { ...grant, mayEndMs: Math.max(grant.mayEndMs, endMs) };
        return { ...state, grants: state.grants.map((each) => (each === grant ? renewed : each)) };
      }
      case "release": {
        const grant = state.grants.find(({ token }) => token === call.token);
        const rest = { ...state, grants: state.grants.filter((each) => each !== grant) };
        if (call.answer === "ok") return grant === undefined ? undefined : rest;
        return call.wasLost ? rest : this.#without(state, grant);
      }
      case "force": {
        const left = state.grants.filter(({ token }) => !call.ended.includes(token));
        if (!left.every((grant) => this.#mayHaveEnded(grant))) return undefined;
        return { counter: Math.max(state.counter, ...call.ended), grants: [] };
      }
    }
  }

  #granted(state: LockState, call: GrantedCall): LockState | undefined {
    const { token, mode, calledMs, leaseMs } = call;
    if (token <= state.counter) return undefined;
    const barring = state.grants.filter((grant) => conflicts(grant.mode, mode));
    if (!barring.every((grant) => this.#mayHaveEnded(grant))) return undefined;
    const others = state.grants.filter((grant) => !barring.includes(grant));
    const own = { token, mode, mayEndMs: calledMs + leaseMs - roundingMs };
    return { counter: token, grants: [...others, own] };
  }

  /** The state without a grant that has to be over. */
  #without(state: LockState, grant: LiveGrant | undefined): LockState | undefined {
    if (grant === undefined) return state;
    if (!this.#mayHaveEnded(grant)) return undefined;
    return { ...state, grants: state.grants.filter((each) => each !== grant) };
  }

  /** Whether the grant's expiry step may come now: no call that is left has ended before. */
  #mayHaveEnded({ token, mayEndMs }: LiveGrant): boolean {
    const unknownMs = Math.min(
      this.#mayEndMs.get(token) ?? Infinity,
      this.#mayEndMs.get(0) ?? Infinity,
    );
    return Math.min(mayEndMs, unknownMs) <= this.#firstEndMs();
  }

  /** Whether something that conflicts holds, or may wait before it. */
  #isExcused(state: LockState, call: AcquireCall): boolean {
    if (state.grants.some((grant) => conflicts(grant.mode, call.mode))) return true;
    return this.#waitersBeside(call).some(
      ({ place, call: waiter }) =>
        place === null || waiter.answer === "fail" || this.#isPlaced[place] === 0,
    );
  }

  /** The waiting requests that may stand in the queue during a call and conflict with it. */
  #waitersBeside(call: AcquireCall): readonly Waiter[] {
    const known = this.#beside.get(call);
    if (known !== undefined) return known;
    const beside = this.#waiters.filter(
      ({ call: waiter }) =>
        waiter !== call &&
        conflicts(waiter.mode, call.mode) &&
        waiter.calledMs <= call.returnedMs &&
        standsUntil(waiter) >= call.calledMs,
    );
    this.#beside.set(call, beside);
    return beside;
  }

  #put(place: number): void {
    this.#isPlaced[place] = 1;
    while (this.#isPlaced[this.#from] === 1) this.#from += 1;
    while (this.#isPlaced[this.#byEnd[this.#endedFrom] ?? -1] === 1) this.#endedFrom += 1;
    if (this.#grants[this.#grantFrom] === place) this.#grantFrom += 1;
  }

  #takeBack(places: readonly number[]): void {
    for (const place of places) {
      this.#isPlaced[place] = 0;
      this.#from = Math.min(this.#from, place);
      this.#endedFrom = Math.min(this.#endedFrom, this.#ranks[place] as number);
      if (isGranted(this.#call(place))) this.#grantFrom -= 1;
    }
  }

  #firstEndMs(): number {
    const place = this.#byEnd[this.#endedFrom];
    return place === undefined ? Infinity : this.#call(place).returnedMs;
  }

  /** A configuration: which calls are placed, and which grants are live; the rest follows. */
  #keyOf({ grants }: LockState): string {
    const ahead: number[] = [];
    const firstEndMs = this.#firstEndMs();
    for (let place = this.#from; place < this.#calls.length; place += 1) {
      if (this.#isPlaced[place] === 1) ahead.push(place);
      else if (this.#call(place).calledMs > firstEndMs) break;
    }
    return `${this.#from} ${ahead.join()} ${grants.map(({ token }) => token).join()}`;
  }

  #call(place: number): Known {
    return this.#calls[place] as Known;
  }

  #tokenAt(place: number): number {
    return (this.#call(place) as GrantedCall).token;
  }
}

function ranksOf(byEnd: readonly number[]): readonly number[] {
  const ranks: number[] = [];
  for (const [rank, place] of byEnd.entries()) ranks[place] = rank;
  return ranks;
}

function isGranted(call: RecordedCall): call is GrantedCall {
  return call.do === "acquire" && call.answer === "ok";
}

function isUnknown(call: RecordedCall): boolean {
  return call.answer === "unknown";
}

/** Only a request that may stand in the queue, or whose grant is not told, excuses others. */
function isWaiter(call: RecordedCall): call is AcquireCall {
  return call.do === "acquire" && (call.waits || call.answer === "unknown");
}

function standsUntil(call: AcquireCall): number {
  return call.answer === "unknown" ? call.standsUntilMs : call.returnedMs;
}
