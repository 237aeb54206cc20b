import { decideAcquire } from "../../src/core/lock/acquire.ts";
import type { AskedItem } from "../../src/core/lock/acquire-command.ts";
import { decideCancel } from "../../src/core/lock/cancel.ts";
import { decideForce } from "../../src/core/lock/force.ts";
import { decideGiveUp, decideLook } from "../../src/core/lock/look.ts";
import type { TicketRef } from "../../src/core/lock/look.ts";
import type { LeftOver, Outcome } from "../../src/core/lock/outcome.ts";
import type { Mode } from "../../src/core/lock/record.ts";
import { decideRelease } from "../../src/core/lock/release.ts";
import { decidePresence } from "../../src/core/lock/space-records.ts";
import { decideAdvance } from "../../src/core/lock/sweep.ts";
import {
  decideCancelUpgrade,
  decideDowngrade,
  decideUpgrade,
} from "../../src/core/lock/upgrade.ts";
import type { Decision, Snapshot } from "../../src/core/decision.ts";
import { checkLocks, type Before } from "./batch-invariants.ts";
import { World } from "./world.ts";

export const names = ["a", "b", "c"] as const;

/** One request of one process, as its shell would know it. */
interface Attempt {
  readonly presence: string;
  readonly id: string;
  readonly items: readonly AskedItem[];
  state: "waiting" | "held" | "over";
  /** The lock that holds it back. */
  lookAt: string;
  readonly numbers: Map<string, number>;
  token: number;
  change: number;
  /** The id of the wish to upgrade that waits. */
  wish: string | null;
}

/** A source of chance with a seed (mulberry32). */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = Math.trunc(state + 0x6d2b79f5);
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function idOf({ id }: Attempt): string {
  return id;
}

/** Random commands of four processes on three locks; the invariants are checked at each commit. */
export class BatchWalk {
  readonly world = new World();
  readonly log: string[] = [];
  readonly #random: () => number;
  readonly #attempts: Attempt[] = [];
  readonly #alive = new Set(["P", "Q", "R", "S"]);
  /** Leases that were upgraded on their first lock. */
  readonly #exclusive = new Set<string>();
  readonly #takenBack = new Set<string>();
  #leftOver: LeftOver[] = [];
  #serial = 0;

  constructor(seed: number) {
    this.#random = chance(seed);
    const wideningMax = this.#pick([1, 2, 4, 128]);
    this.world.settings = { wideningMax, audit: "off" };
    this.log.push(`bound ${wideningMax}`);
  }

  step(): void {
    const acts = [
      () => this.#ask(),
      () => this.#ask(),
      () => this.#look(),
      () => this.#release(),
      () => this.#release(),
      () => this.#giveUp(),
      () => this.#upgrade(),
      () => this.#downgrade(),
      () => this.#cancelWish(),
      () => this.#cancel(),
      () => this.#force(),
      () => this.#pass(),
      () => this.#advance(),
      () => this.#kill(),
    ];
    this.#pick(acts)();
  }

  /** Lets every waiter look as its shell would, until nothing changes any more (I13). */
  settle(): void {
    // The unrenewed leases and the presences of the dead are over by then.
    this.world.now += 31_000;
    for (const presence of this.#alive) this.#renew(presence);
    for (let round = 0; round < 60; round += 1) {
      const before = JSON.stringify(names.map((name) => this.#find(name)));
      for (const attempt of this.#attempts) if (this.#isWaiting(attempt)) this.#lookFor(attempt);
      for (const attempt of this.#attempts) this.#lookForWish(attempt);
      while (this.#leftOver.length > 0) this.#advance();
      if (JSON.stringify(names.map((name) => this.#find(name))) === before) break;
    }
  }

  /** Presences whose processes live. */
  get alive(): ReadonlySet<string> {
    return this.#alive;
  }

  #ask(): void {
    const presence = this.#pick([...this.#alive]);
    const id = `${presence}${(this.#serial += 1)}`;
    const wanted = names.filter(() => this.#random() < 0.45);
    const chosen = wanted.length === 0 ? [this.#pick(names)] : wanted;
    const items = chosen.map((name) => ({ name, mode: this.#mode() }));
    const waitMs = this.#random() < 0.25 ? 0 : null;
    const [first, ...also] = items as [AskedItem, ...AskedItem[]];
    const fixed = { kind: "lease", owner: presence, leaseMs: 30_000, lockDelayMs: 0 } as const;
    const scope = this.world.scope(presence);
    const command = { scope, ...first, also, id, ...fixed, waitMs, isRepeat: false };
    const what = items.map(({ name, mode }) => `${name}:${mode[0]}`).join(" ");
    const result = this.#run(`${id} asks ${what} wait ${waitMs}`, presence, (snapshot) =>
      decideAcquire(snapshot, command),
    );
    const blank = { presence, id, items, lookAt: first.name, numbers: new Map<string, number>() };
    const attempt: Attempt = { ...blank, state: "over", token: 0, change: 0, wish: null };
    if (result.kind === "granted") this.#hold(attempt, result.grant.token);
    if (result.kind === "queued") {
      attempt.state = "waiting";
      attempt.lookAt = result.denial.via ?? result.denial.name;
      attempt.numbers.set(first.name, result.number);
      for (const { name, number } of result.also) attempt.numbers.set(name, number);
    }
    this.#attempts.push(attempt);
  }

  #hold(attempt: Attempt, token: number): void {
    attempt.state = "held";
    attempt.token = token;
  }

  #look(): void {
    const attempt = this.#some((each) => this.#isWaiting(each));
    if (attempt !== undefined) this.#lookFor(attempt);
  }

  #lookFor(attempt: Attempt): void {
    const { presence, lookAt } = attempt;
    const scope = this.world.scope(presence);
    const tickets = [this.#refOf(attempt)];
    const result = this.#run(`${attempt.id} looks at ${lookAt}`, presence, (snapshot) =>
      decideLook(snapshot, { scope, name: lookAt, tickets }),
    );
    for (const { id, name } of result.moved) if (id === attempt.id) attempt.lookAt = name;
    for (const answer of result.answers) {
      if (answer.kind === "gone") attempt.state = "over";
      else this.#hold(attempt, answer.grant.token);
      if (answer.kind === "granted") this.#checkWhole(attempt);
    }
  }

  /** I14: what is confirmed is held on all its locks. */
  #checkWhole({ id, items }: Attempt): void {
    for (const { name } of items) {
      const isHeld = this.#find(name)?.grants.some((grant) => grant.id === id && !grant.forced);
      if (isHeld !== true) throw new Error(`I14: ${id} was confirmed without ${name}`);
    }
  }

  #lookForWish({ presence, items, id: upgrades, wish }: Attempt): void {
    if (wish === null || !this.#alive.has(presence)) return;
    const [{ name }] = items as [AskedItem];
    const scope = this.world.scope(presence);
    const tickets = [{ id: wish, number: 0, mode: "exclusive", upgrades }] as const;
    this.#run(`${wish} looks`, presence, (snapshot) =>
      decideLook(snapshot, { scope, name, tickets }),
    );
  }

  #release(): void {
    const attempt = this.#some((each) => each.state === "held" && this.#alive.has(each.presence));
    if (attempt === undefined) return;
    attempt.state = "over";
    const { presence, id } = attempt;
    const scope = this.world.scope(presence);
    const [name = "", ...also] = attempt.items.map((item) => item.name);
    this.#run(`${id} releases`, presence, (snapshot) =>
      decideRelease(snapshot, { scope, name, also, id, how: "released" }),
    );
    for (const each of [name, ...also]) {
      const isLeft = this.#find(each)?.grants.some((grant) => grant.id === id);
      if (isLeft === true) throw new Error(`L45: ${id} was released and holds ${each}`);
    }
  }

  #giveUp(): void {
    const attempt = this.#some((each) => this.#isWaiting(each));
    if (attempt === undefined) return;
    const { presence, lookAt: name } = attempt;
    const scope = this.world.scope(presence);
    const ticket = this.#refOf(attempt);
    attempt.state = "over";
    const result = this.#run(`${attempt.id} gives up`, presence, (snapshot) =>
      decideGiveUp(snapshot, { scope, name, ticket }),
    );
    if (result.kind === "granted") this.#hold(attempt, result.grant.token);
    else if (result.kind === "unjudged") attempt.state = "waiting";
  }

  #cancel(): void {
    const attempt = this.#some(
      ({ state, presence }) => state !== "over" && this.#alive.has(presence),
    );
    if (attempt === undefined) return;
    attempt.state = "over";
    const { presence, id } = attempt;
    const scope = this.world.scope(presence);
    const [name = "", ...also] = attempt.items.map((item) => item.name);
    const number = attempt.numbers.get(name) ?? null;
    this.#run(`${id} is cancelled`, presence, (snapshot) =>
      decideCancel(snapshot, { scope, name, also, id, number }),
    );
  }

  #upgrade(): void {
    const attempt = this.#some((each) => each.state === "held" && this.#alive.has(each.presence));
    if (attempt === undefined) return;
    const { presence } = attempt;
    const [item] = attempt.items as [AskedItem];
    const id = (attempt.wish ??= `${attempt.id}^${(this.#serial += 1)}`);
    const command = { ...this.#changeOf(attempt, item.name), attempt: id };
    const waitMs = this.#random() < 0.3 ? 0 : null;
    const result = this.#run(`${attempt.id} upgrades ${item.name}`, presence, (snapshot) =>
      decideUpgrade(snapshot, { ...command, waitMs }),
    );
    if (result.kind === "upgraded") {
      const isNew = item.mode === "shared" && !this.#exclusive.has(attempt.id);
      if (isNew && result.grant.token <= attempt.token) throw new Error("I1: upgraded, old token");
      this.#exclusive.add(attempt.id);
      attempt.token = result.grant.token;
    }
    // What was asked without waiting leaves a wish that stood before where it is.
    if (result.kind !== "queued" && result.kind !== "refused") attempt.wish = null;
  }

  #cancelWish(): void {
    const attempt = this.#some((each) => each.wish !== null && this.#alive.has(each.presence));
    if (attempt === undefined) return;
    const [item] = attempt.items as [AskedItem];
    const command = { ...this.#changeOf(attempt, item.name), attempt: attempt.wish as string };
    this.#takenBack.add(command.attempt);
    attempt.wish = null;
    this.#run(`${attempt.id} takes its wish back`, attempt.presence, (snapshot) =>
      decideCancelUpgrade(snapshot, command),
    );
  }

  #downgrade(): void {
    const attempt = this.#some((each) => each.state === "held" && this.#alive.has(each.presence));
    if (attempt === undefined) return;
    const { name } = this.#pick(attempt.items);
    const command = this.#changeOf(attempt, name);
    if (name === attempt.items[0]?.name) this.#exclusive.delete(attempt.id);
    this.#run(`${attempt.id} downgrades ${name}`, attempt.presence, (snapshot) =>
      decideDowngrade(snapshot, command),
    );
  }

  #force(): void {
    if (this.#random() < 0.5) return;
    const name = this.#pick(names);
    const scope = this.world.scope("admin");
    const command = { scope, name, token: null, reason: "why", isWithoutDelay: true };
    this.#run(`force ${name}`, "admin", (snapshot) => decideForce(snapshot, command));
  }

  #advance(): void {
    const left = this.#leftOver.shift();
    const name = left?.name ?? this.#pick(names);
    const scope = this.world.scope("advancer");
    const from = left?.from ?? 0;
    this.#run(`advance ${name} from ${from}`, "advancer", (snapshot) =>
      decideAdvance(snapshot, { scope, name, from }),
    );
  }

  /** Time passes; the living renew their presences. */
  #pass(): void {
    const ms = this.#pick([1_000, 6_000, 16_000, 31_000]);
    this.world.now += ms;
    this.log.push(`${ms} ms pass`);
    for (const presence of this.#alive) this.#renew(presence);
  }

  #renew(presence: string): void {
    const scope = this.world.scope(presence);
    this.world.apply((snapshot) => decidePresence(snapshot, scope));
  }

  #kill(): void {
    if (this.#alive.size <= 1 || this.#random() < 0.7) return;
    const presence = this.#pick([...this.#alive]);
    this.#alive.delete(presence);
    this.log.push(`${presence} dies`);
  }

  #changeOf(attempt: Attempt, name: string) {
    attempt.change += 1;
    const scope = this.world.scope(attempt.presence);
    const grant = this.#find(name)?.grants.find(({ id }) => id === attempt.id);
    // What a look would have told of an upgrade stays unknown to the holder.
    const isFirst = attempt.items[0]?.name === name;
    const token = isFirst ? attempt.token : (grant?.token ?? 1);
    return { scope, name, id: attempt.id, token, change: attempt.change };
  }

  #refOf({ id, items, lookAt, numbers }: Attempt): TicketRef {
    const mode = items.find(({ name }) => name === lookAt)?.mode ?? "exclusive";
    const number = numbers.get(lookAt) ?? 0;
    const of = items.map(({ name }) => name);
    return of.length === 1 ? { id, number, mode } : { id, number, mode, names: of };
  }

  #isWaiting({ state, presence }: Attempt): boolean {
    return state === "waiting" && this.#alive.has(presence);
  }

  #run<Result>(
    what: string,
    by: string,
    decide: (snapshot: Snapshot) => Decision<Outcome<Result>>,
  ): Result {
    this.log.push(what);
    const before: Before = new Map(names.map((name) => [name, this.#find(name)]));
    const outcome = this.world.apply(decide);
    this.#leftOver.push(...outcome.leftOver);
    for (const grant of outcome.effects.granted) {
      const attempt = this.#attempts.find(({ id }) => id === grant.id);
      if (attempt?.state === "waiting") this.#hold(attempt, grant.token);
    }
    const over = this.#attempts.filter((each) => each.state === "over").map(idOf);
    const quits = new Set([...over, ...this.#takenBack]);
    checkLocks(this.world, before, { by, names, quits });
    return outcome.result;
  }

  #find(name: string) {
    return this.world.get(["lock", "ns", name]) === undefined ? undefined : this.world.lock(name);
  }

  #mode(): Mode {
    return this.#random() < 0.5 ? "exclusive" : "shared";
  }

  #some(suits: (attempt: Attempt) => boolean): Attempt | undefined {
    const fitting = this.#attempts.filter((attempt) => suits(attempt));
    return fitting.length === 0 ? undefined : this.#pick(fitting);
  }

  #pick<Choice>(choices: readonly Choice[]): Choice {
    return choices[Math.floor(this.#random() * choices.length)] as Choice;
  }
}
