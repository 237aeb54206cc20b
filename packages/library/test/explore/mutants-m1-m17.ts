import type { Mutant } from "./mutant.ts";

const acquire = "core/lock/acquire.ts";
const ending = "core/lock/ending.ts";
const cancel = "core/lock/cancel.ts";
const look = "core/lock/look.ts";
const release = "core/lock/release.ts";
const renew = "core/lock/renew.ts";
const sweep = "core/lock/sweep.ts";
const validity = "core/lock/validity.ts";
const walk = "core/lock/walk.ts";

export const earlierMutants: readonly Mutant[] = [
  {
    id: "M1",
    what: "lease returned before the commit is known",
    killers: ["I2"],
    world: "1: two clients, tries",
    edits: [],
    engine: "tells-uncommitted",
  },
  {
    id: "M2",
    what: "release ignores the lease id",
    killers: ["I7"],
    world: "1:",
    edits: [
      [
        release,
        "  const grant = grantOf(draft, command.id);\n  const isLive = grant !== undefined",
        "  const [grant] = draft.grants;\n  const isLive = grant !== undefined",
      ],
    ],
  },
  {
    id: "M3",
    what: "renew revives a lapsed grant",
    killers: ["I8"],
    world: "1:",
    edits: [
      [
        renew,
        "if (grant !== undefined && isLiveForHolder(grant, lock.now)) continue;",
        "if (grant !== undefined && grant.forced === undefined) continue;",
      ],
    ],
  },
  {
    id: "M4",
    what: "expiry exclusive instead of inclusive",
    killers: ["I8"],
    world: "1:",
    edits: [
      [validity, "return now < grant.expiresAt && grant", "return now <= grant.expiresAt && grant"],
    ],
  },
  {
    id: "M5",
    what: "token from the highest live grant instead of the counter",
    killers: ["I1"],
    world: "1:",
    edits: [
      [
        "core/lock/draft.ts",
        "this.counter += 1;",
        "this.counter = Math.max(0, ...this.grants.map(({ token }) => token)) + 1;",
      ],
    ],
  },
  {
    id: "M6",
    what: "sweep deletes without raising the floor",
    killers: ["I3"],
    world: "6:",
    edits: [[sweep, "floor = Math.max(floor, record.counter);", ""]],
  },
  {
    id: "M7",
    what: "floor read outside the decision's key set",
    killers: ["I1"],
    world: "6:",
    edits: [],
    engine: "floor-not-compared",
  },
  {
    id: "M8",
    what: "tryAcquire ignores the queue",
    killers: ["I12"],
    world: "2: three",
    edits: [
      [
        acquire,
        "  const needs = advanceFor(asking);\n",
        "  const needs = command.waitMs === 0 ? undefined : advanceFor(asking);\n",
      ],
      [
        acquire,
        "if (!isFree) return",
        "const isOver = first.grants.every(({ expiresAt }) => first.now >= expiresAt);\n" +
          "  if (command.waitMs === 0 ? !isOver : !isFree) return",
      ],
    ],
  },
  {
    id: "M9",
    what: "shared passes a waiting exclusive",
    killers: ["I11", "I12"],
    world: "2: modes",
    edits: [
      [
        "core/lock/denial.ts",
        "return draft.queue.some(" +
          '(ticket) => ticket.mode === "exclusive" || ticket.limited === true);',
        "return false;",
      ],
    ],
  },
  {
    id: "M10",
    what: "dead ticket stays at the head",
    killers: ["I13", "I20"],
    world: "2:",
    edits: [
      [
        walk,
        'if (liveness === "dead") return this.#passOver(found);',
        'if (liveness === "dead") return "end";',
      ],
    ],
  },
  {
    id: "M11",
    what: "presence not checked at grant",
    killers: ["I6"],
    world: "2:",
    edits: [
      [
        "core/lock/presence.ts",
        'if (!isPresent(stored, now, scope.clockErrorMs)) return "dead";',
        'if (stored === undefined || stored.aliveUntil <= now) return "live";',
      ],
    ],
  },
  {
    id: "M12",
    what: "pending grant never withdrawn",
    killers: ["I19"],
    world: "2:",
    edits: [
      [ending, '(grant) => grant.state === "pending" && now', "(grant) => grant.token < 0 && now"],
    ],
  },
  {
    id: "M13",
    what: "confirm accepted after the pending end",
    killers: ["I8"],
    world: "2:",
    edits: [
      [
        "core/lock/own-grant.ts",
        "if (!isLiveForHolder(grant, draft.now)) {",
        "if (grant.forced !== undefined) {",
      ],
      [
        "core/lock/own-grant.ts",
        "grant !== undefined && isLiveForHolder(grant, decision.now)",
        "grant !== undefined && grant.forced === undefined",
      ],
    ],
  },
  {
    id: "M14",
    what: "attempt id not looked for after unknown",
    killers: ["I23"],
    world: "2:",
    edits: [
      [
        acquire,
        "  if (!command.isRepeat) return undefined;\n",
        "  if (Date !== null) return undefined;\n",
      ],
      [
        acquire,
        "command.isRepeat ? findTicket(first, command.id, null) : undefined;",
        "undefined;",
      ],
    ],
  },
  {
    id: "M15",
    what: "abort of a granted attempt does not cancel it",
    killers: ["I19", "I24"],
    world: "2:",
    edits: [[cancel, 'lock.endGrant(grant, "cancelled");', "lock.hasChanged = grant.token > 0;"]],
  },
  {
    id: "M16",
    what: "cancel after unknown writes nothing",
    killers: ["I24"],
    world: "2:",
    edits: [
      [
        cancel,
        "if (lock.endedOf(id) !== undefined) continue;",
        "if (lock.endedOf(id) !== undefined || found === undefined) continue;",
      ],
      [cancel, "  for (const lock of locks) lock.hasChanged = true;\n", ""],
    ],
  },
  {
    id: "M17",
    what: "timeout without advancing first",
    killers: ["I21"],
    world: "2:",
    edits: [
      [
        look,
        "  const needs = walkLock(lock, waiters(lock, [ticket])) ?? walkAll(decision);\n" +
          "  if (needs !== undefined) return needs;\n",
        "",
      ],
    ],
  },
];
