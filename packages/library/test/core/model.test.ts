import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideStatus } from "../../src/core/lock/status.ts";
import { decideAdvance, decideSweep } from "../../src/core/lock/sweep.ts";
import { retentionDefault as retention } from "../../src/core/lock/sweep.ts";
import type { Grant, LockRecord, PresenceRecord } from "../../src/core/lock/record.ts";
import { brokenBy, lostWakeUp, type Step } from "../explore/invariants.ts";
import { World } from "./world.ts";

const presences = ["A", "B", "C"] as const;
type Presence = (typeof presences)[number];

/** One step of the sequential model; `pick` chooses among the attempts that exist. */
interface Command {
  readonly kind: (typeof kinds)[number];
  readonly by: Presence;
  readonly pick: number;
  readonly mode: "exclusive" | "shared";
  readonly lockDelayMs: number;
}

const kinds = [
  ...(["acquire", "acquire", "acquire", "try", "renew", "release", "release", "lost"] as const),
  ...(["look", "look", "giveUp", "cancel", "repeat", "claim", "resume", "releaseClaim"] as const),
  ...(["force", "sweep", "advance", "die", "wait", "wait", "wait", "expire", "stepBack"] as const),
] as const;

const anyCommand: fc.Arbitrary<Command> = fc.record({
  kind: fc.constantFrom(...kinds),
  by: fc.constantFrom(...presences),
  pick: fc.nat(1_000),
  mode: fc.constantFrom("exclusive" as const, "shared" as const),
  lockDelayMs: fc.constantFrom(0, 0, 0, 2_000),
});

/** One lock under a random sequence of commands, watched by the invariants. */
class Model {
  readonly world = new World();
  highest = 0;
  attempts = 0;
  /** Tokens given out and tokens whose end was counted, for I29. */
  readonly minted = new Set<number>();
  readonly endings = new Map<number, number>();

  get record(): LockRecord | undefined {
    return this.world.get(["lock", "ns", "a"]) as unknown as LockRecord | undefined;
  }

  get floor(): number {
    return (this.world.get(["floor", "ns"]) as { floor: number } | undefined)?.floor ?? 0;
  }

  run({ kind, by, pick, mode, lockDelayMs }: Command): void {
    const { world } = this;
    const grant = pickOf(this.record?.grants, pick);
    const ticket = pickOf(this.record?.queue, pick);
    const fresh = `t${(this.attempts += 1)}`;
    const more = { mode, lockDelayMs };
    switch (kind) {
      case "acquire":
        return this.step(by, fresh, () => world.acquire(by, fresh, more));
      case "try":
        return this.step(by, fresh, () => world.try(by, fresh, more));
      case "claim":
        return this.step(by, fresh, () =>
          world.acquire(by, fresh, { lockDelayMs, kind: "claim", owner: `o${pick % 2}` }),
        );
      case "repeat": {
        const id = pick % 2 === 0 ? ticket?.id : grant?.id;
        const own = this.record?.grants.find((each) => each.id === id);
        if (id === undefined || own?.kind === "resumed") return undefined;
        return this.step(by, id, () => world.acquire(by, id, { isRepeat: true }), own);
      }
      case "renew":
        return grant && this.step(grant.presence, grant.id, () => this.renew(grant, pick));
      case "release":
      case "lost": {
        const how = kind === "lost" ? "lost" : "released";
        return grant && this.step(by, null, () => world.release(by, grant.id, how), grant);
      }
      case "look":
        return this.lookAs(by);
      case "giveUp":
        if (ticket === undefined) return undefined;
        return this.step(by, ticket.id, () => world.giveUp(by, ticket.id, ticket.number));
      case "cancel": {
        const id = pick % 2 === 0 ? ticket?.id : grant?.id;
        const own = grant?.presence === by && grant.forced === undefined ? grant : undefined;
        return this.step(by, null, () => world.cancel(by, id ?? fresh), own, id ?? null);
      }
      case "resume":
        return this.resume(by, fresh, `o${pick % 2}`, pick % 3 === 0);
      case "releaseClaim":
        return this.releaseClaim(by, `o${pick % 2}`);
      case "force":
        return this.force(by, pick % 3 === 0 ? (grant?.token ?? 9) : null, pick % 5 === 0);
      case "advance":
      case "die":
      case "expire":
      case "stepBack":
      case "sweep":
      case "wait":
        return this.pass(kind, by, pick);
    }
  }

  /** Steps of time, of presences and of the sweep. */
  pass(kind: Command["kind"], by: Presence, pick: number): void {
    const { world } = this;
    if (kind === "wait") world.now += [1, 1_000, 4_999, 5_000, 15_000, 30_000][pick % 6] ?? 0;
    if (kind === "die") world.put(["presence", "ns", by], null);
    if (kind === "stepBack" && pick % 4 === 0) world.now -= 3_600_000;
    const { now } = world;
    const ends = (this.record?.grants ?? []).map(({ expiresAt }) => expiresAt - (pick % 2));
    if (kind === "expire") world.now = Math.max(now, ends[pick % Math.max(1, ends.length)] ?? now);
    const scope = world.scope(by);
    if (kind === "advance") {
      this.step(by, null, () => {
        const command = { scope, name: "a" };
        world.effects = world.apply((snapshot) => decideAdvance(snapshot, command)).effects;
      });
    }
    if (kind !== "sweep") return;
    const short = { ...retention, freeMs: 20_000, claimMs: 40_000 };
    this.step(by, null, () => {
      const sweep = { scope, names: ["a"], retention: short };
      const { reclaimed } = world.apply((snapshot) => decideSweep(snapshot, sweep));
      world.effects = { granted: [], withdrawn: [], reclaimed };
    });
  }

  renew(grant: Grant, pick: number): void {
    const how = (["keep", "set", "extend"] as const)[pick % 3] ?? "keep";
    const lengthMs = [null, 2_000, 60_000][pick % 7] ?? null;
    const change = grant.change + 1 - (pick % 11 === 0 ? 2 : 0);
    this.world.renew(grant.presence, grant.id, { token: grant.token, how, lengthMs, change });
  }

  lookAs(by: Presence): void {
    const mine = (this.record?.queue ?? []).filter(({ presence }) => presence === by);
    const pending = (this.record?.grants ?? []).filter(
      ({ presence, state }) => presence === by && state === "pending",
    );
    const tickets = pending.map(({ id }) => [id, 1] as const);
    const waiting = mine.map(({ id, number }) => [id, number] as const);
    this.step(by, null, () => this.world.look(by, ...tickets, ...waiting), pending);
  }

  resume(by: Presence, fresh: string, owner: string, ifUnresumed: boolean): void {
    const claims = (this.record?.grants ?? []).filter((each) => each.owner === owner);
    this.step(by, fresh, () => this.world.resume(by, fresh, owner, ifUnresumed), claims);
    const live = (this.record?.grants ?? []).filter(
      ({ kind, expiresAt, forced }) =>
        kind !== "lease" && forced === undefined && expiresAt > this.world.now,
    );
    expect(live.length, "I25: at most one live lease id per claim").toBeLessThanOrEqual(1);
  }

  releaseClaim(by: Presence, owner: string): void {
    const claims = (this.record?.grants ?? []).filter(
      (each) => each.owner === owner && each.kind === "claim" && each.forced === undefined,
    );
    this.step(by, null, () => this.world.releaseClaim(by, owner), claims);
  }

  force(by: Presence, token: number | null, isWithoutDelay: boolean): void {
    const targets = (this.record?.grants ?? []).filter(
      (each) =>
        (token === null || each.token === token) && (each.forced === undefined || isWithoutDelay),
    );
    this.step(by, null, () => this.world.force(by, { token, isWithoutDelay }), targets);
  }

  /** Runs one command and checks what its commit did. `ends` are the grants that it may end. */
  step(
    by: string,
    asks: string | null,
    act: () => unknown,
    ...[ends, quits]: readonly [(Grant | readonly Grant[] | undefined)?, (string | null)?]
  ): void {
    const { world } = this;
    const [before, floorBefore, presencesBefore] = [this.record, this.floor, this.presences()];
    world.effects = undefined;
    act();
    const effects = world.effects as World["effects"];
    const allowed = new Set([ends ?? []].flat().map(({ token }) => token));
    const given = before?.grants.find(({ id }) => id === asks)?.token;
    const step: Step = {
      now: world.now,
      clockErrorMs: 0,
      by,
      before,
      after: this.record,
      floorBefore,
      floorAfter: this.floor,
      highest: this.highest,
      presences: presencesBefore,
      asks,
      quits: quits ?? asks,
      mayEnd: ({ token }) => allowed.has(token) || token === given,
      counted: [...(effects?.reclaimed ?? []), ...(effects?.withdrawn ?? [])].map(
        ({ token }) => token,
      ),
    };
    expect(brokenBy(step)).toBeNull();
    this.count(step);
    this.highest = Math.max(this.highest, this.record?.counter ?? 0);
  }

  /** I29: each token ends exactly once. */
  count({ before, after }: Step): void {
    for (const { token } of after?.grants ?? []) this.minted.add(token);
    for (const { token, forced } of before?.grants ?? []) {
      const now = after?.grants.find((grant) => grant.token === token);
      if (forced !== undefined || (now !== undefined && now.forced === undefined)) continue;
      this.endings.set(token, (this.endings.get(token) ?? 0) + 1);
      expect(this.endings.get(token), `I29: the end of ${token}`).toBe(1);
    }
  }

  presences(): ReadonlyMap<string, PresenceRecord> {
    const found = presences.map(
      (id) => [id, this.world.get(["presence", "ns", id]) as unknown as PresenceRecord] as const,
    );
    return new Map(found.filter(([, record]) => record !== undefined));
  }

  /** With the looks of all presences done, nobody grantable is left waiting (I13). */
  settle(): void {
    for (const by of presences) this.lookAs(by);
    const step = { now: this.world.now, clockErrorMs: 0, by: "none", before: this.record };
    const rest = { floorBefore: 0, floorAfter: 0, highest: 0, asks: null, quits: null };
    const presencesNow = this.presences();
    const whole = { ...step, ...rest, presences: presencesNow, mayEnd: () => true, counted: [] };
    expect(lostWakeUp(whole)).toBeNull();
  }
}

function pickOf<Each>(list: readonly Each[] | undefined, pick: number): Each | undefined {
  return list === undefined || list.length === 0 ? undefined : list[pick % list.length];
}

describe("one lock under any sequence of commands", () => {
  test("keeps what holds after every step [I1] [I3] [I4] [I5] [I6] [I7] [I8] [I11] [I12]", () => {
    fc.assert(
      fc.property(fc.array(anyCommand, { maxLength: 40 }), (commands) => {
        const model = new Model();
        for (const each of commands) model.run(each);
      }),
      { numRuns: 1_500 },
    );
  });

  test("has no lost wake-up, ends each grant once, reads change nothing [I13] [I28] [I29]", () => {
    fc.assert(
      fc.property(fc.array(anyCommand, { maxLength: 25 }), (commands) => {
        const model = new Model();
        for (const each of commands) {
          model.run(each);
          const before = model.world.text();
          const command = { namespace: "ns", name: "a", clockErrorMs: 0 };
          model.world.apply((snapshot) => decideStatus(snapshot, command));
          expect(model.world.text()).toBe(before);
        }
        model.settle();
      }),
      { numRuns: 500 },
    );
  });
});
