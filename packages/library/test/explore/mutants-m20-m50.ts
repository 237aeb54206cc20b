import type { Mutant } from "./mutant.ts";

const ending = "core/lock/ending.ts";
const attempt = "lock/attempt-state.ts";
const cancel = "core/lock/cancel.ts";
const fenceRule = "core/fence/rule.ts";
const lease = "lock/lease-state.ts";
const release = "core/lock/release.ts";
const renew = "core/lock/renew.ts";
const resume = "core/lock/resume.ts";
const sqliteFence = "fence/sqlite-fence.ts";
const sweep = "core/lock/sweep.ts";
const validity = "core/lock/validity.ts";
const walk = "core/lock/walk.ts";

export const laterMutants: readonly Mutant[] = [
  {
    id: "M20",
    what: "release frees without granting the successor",
    killers: ["I13"],
    world: "2:",
    edits: [
      [
        release,
        "  const needs = walkAll(decision);\n  return needs ?? finish({",
        "  return finish({",
      ],
    ],
  },
  {
    id: "M22",
    what: "left-over heads forgotten at the widening bound",
    killers: ["I13"],
    world: "2: modes",
    edits: [
      [
        walk,
        'decision.leaveOver(name, ticket.number);\n      return "end";\n    }\n    dec',
        'return "end";\n    }\n    dec',
      ],
    ],
  },
  {
    id: "M23",
    what: "local deadline counted from the reply",
    killers: ["I9"],
    world: "1:",
    edits: [],
    engine: "counts-from-reply",
  },
  {
    id: "M25",
    what: "late renewal reply revives a lost handle",
    killers: ["I10"],
    world: "1:",
    edits: [[lease, "if (isOver(facts) || sent === null)", "if (sent === null)"]],
  },
  {
    id: "M26",
    what: "unknown shortening renewal keeps the longer deadline",
    killers: ["I9"],
    world: "1: two clients, changes",
    edits: [
      [
        lease,
        'outcome === "unknown" ? (facts.sent?.shortenedMs ?? null) : null;',
        "null as number | null;",
      ],
    ],
  },
  {
    id: "M29",
    what: "lock-delay dropped on reclaim",
    killers: ["I5"],
    world: "1: a lock-delay",
    edits: [[validity, 'grant.state === "held" ? grant.lockDelayMs : 0', "0 * grant.lockDelayMs"]],
  },
  {
    id: "M30",
    what: "resume leaves the old lease id valid",
    killers: ["I25"],
    world: "5:",
    edits: [[resume, '  draft.endGrant(earlier, "superseded", { by: scope.actor });\n', ""]],
  },
  {
    id: "M31",
    what: "resume after another grant",
    killers: ["I4", "I5"],
    world: "5:",
    edits: [
      [
        "core/lock/new-grant.ts",
        "    if (isBlocking(draft, grant)) continue;\n    if (grant.forced",
        '    if (isBlocking(draft, grant) || grant.kind !== "lease") continue;\n' +
          "    if (grant.forced",
      ],
    ],
  },
  {
    id: "M32",
    what: "releaseClaim frees a resumed lease",
    killers: ["I7"],
    world: "5:",
    edits: [[release, 'kind === "claim" && owner', 'kind !== "lease" && owner']],
  },
  {
    id: "M33",
    what: "re-base sets the end to now instead of now + span",
    killers: ["I9"],
    world: "1: a lock-delay",
    edits: [
      [
        ending,
        "draft.replaceGrant(grant.id, { ...grant, expiresAt: now + grant.spanMs });",
        "draft.replaceGrant(grant.id, { ...grant, expiresAt: now });",
      ],
    ],
  },
  {
    id: "M34",
    what: "guard ignores mode: shared holders fence each other",
    killers: ["I26"],
    world: "7:",
    edits: [[fenceRule, "if (token < markX) return", "if (token < markX || token < markS) return"]],
  },
  {
    id: "M35",
    what: "guard's shared operation does not raise markS",
    killers: ["I26"],
    world: "7:",
    edits: [[fenceRule, "{ ...marks, markS: Math.max(markS, token) }", "marks"]],
  },
  {
    id: "M36",
    what: "guard's marks are kept in memory only",
    killers: ["I26"],
    world: "7:",
    edits: [
      [
        sqliteFence,
        "  readonly #database: Database;\n",
        "  readonly #database: Database;\n  readonly #kept = new Map<string, MarkRow>();\n",
      ],
      [
        sqliteFence,
        "this.#raise.run(namespace, name, wholeName, markX, markS);",
        "this.#kept.set(name, { mark_x: markX, mark_s: markS });",
      ],
      [
        sqliteFence,
        "const whole = read(wholeName);",
        "const whole = this.#kept.get(name) ?? read(wholeName);",
      ],
    ],
  },
  {
    id: "M40",
    what: "reclaim counted when seen instead of when committed",
    killers: ["I29"],
    world: "1:",
    edits: [
      [
        "core/lock/draft.ts",
        "    this.ended = stored === undefined ? [] : [...stored.ended];\n",
        "    this.ended = stored === undefined ? [] : [...stored.ended];\n" +
          "    for (const { token, owner, kind, expiresAt } of this.grants) {\n" +
          "      const facts = { name, token, owner, kind };\n" +
          '      if (this.now >= expiresAt) decision.tellEnded("reclaimed", facts);\n    }\n',
      ],
    ],
  },
  {
    id: "M41",
    what: "failed write on hand-over drops the waiter",
    killers: ["I18"],
    world: "2:",
    edits: [
      [
        attempt,
        'noAnswer(after) : { facts: after, action: { do: "retry" } };',
        'noAnswer(after) : { facts: after, action: { do: "nothing" } };',
      ],
    ],
  },
  {
    id: "M43",
    what: "a decision reads the process clock",
    killers: ["I30", "I31"],
    world: "1:",
    edits: [["core/lock/draft.ts", "this.now = decision.now;", "this.now = Date.now();"]],
  },
  {
    id: "M44",
    what: "span not written together with the end",
    killers: ["I31", "I9"],
    world: "2:",
    edits: [
      ["core/lock/own-grant.ts", "{ spanMs: grant.leaseMs, expiresAt: end }", "{ expiresAt: end }"],
    ],
  },
  {
    id: "M47",
    what: "sweep leaves the floor record alone when its value stays",
    killers: ["I24"],
    world: "6:",
    edits: [
      [
        sweep,
        "if (deleted.length > 0) writes.push({ key: floorAt",
        "if (floor !== decodeFloor(floorAt, snapshot.get(floorAt))) writes.push({ key: floorAt",
      ],
    ],
  },
  {
    id: "M48",
    what: "renewal with an unchanged end writes nothing",
    killers: ["I9"],
    world: "1: two clients, changes",
    edits: [
      [
        renew,
        "  draft.replaceGrant(grant.id, {\n",
        "  if (moves) draft.replaceGrant(grant.id, {\n",
      ],
    ],
  },
  {
    id: "M49",
    what: "numbers of changes are not compared",
    killers: ["I34"],
    world: "1: two clients, changes",
    edits: [[renew, "if (command.change < grant.change) {", "if (command.change < 0) {"]],
  },
  {
    id: "M50",
    what: "cancel does not compare the presence",
    killers: ["I34"],
    world: "2:",
    edits: [
      [
        cancel,
        '  if (grants.some(({ grant }) => grant.presence !== scope.presence)) return "foreign";\n',
        "",
      ],
      [
        cancel,
        "  if (found !== undefined && found.ticket.presence !== scope.presence) " +
          'return "foreign";\n',
        "",
      ],
    ],
  },
];
