/**
 * The catalogue of mutants: each is one changed line, or one broken promise of the engine, and must
 * be killed by an invariant. The changed line is one of the production file: the text is replaced in
 * a copy of the sources, and it is an error when it is not found there exactly once.
 *
 * The others of the specification belong elsewhere: M18, M19, M27, M28, M34 to M39, M42, M51 to M62
 * to parts that are not built yet; M21 and M46 to the shells' timers and close, and M45 to the
 * engines' check of decisions without writes, all three for the simulation; M24 to world 9, because
 * without drift the margin alone never decides.
 */
export interface Mutant {
  readonly id: string;
  readonly what: string;
  /** Invariants that the specification expects to kill it, or that see the same harm earlier. */
  readonly killers: readonly string[];
  /** A part of the name of the worlds in which it shows. */
  readonly world: string;
  /** `[file below src, text, replacement]`. */
  readonly edits: readonly (readonly [string, string, string])[];
  readonly engine?: "tells-uncommitted" | "floor-not-compared" | "counts-from-reply";
}

const acquire = "core/lock/acquire.ts";
const advance = "core/lock/advance.ts";
const attempt = "lock/attempt-state.ts";
const cancel = "core/lock/cancel.ts";
const lease = "lock/lease-state.ts";
const look = "core/lock/look.ts";
const release = "core/lock/release.ts";
const renew = "core/lock/renew.ts";
const resume = "core/lock/resume.ts";
const sweep = "core/lock/sweep.ts";
const validity = "core/lock/validity.ts";

export const mutants: readonly Mutant[] = [
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
    edits: [[release, "const grant = grantOf(draft, command.id);", "const [grant] = draft.grants;"]],
  },
  {
    id: "M3",
    what: "renew revives a lapsed grant",
    killers: ["I8"],
    world: "1:",
    edits: [
      [
        renew,
        "grant !== undefined && isLiveForHolder(grant, draft.now)\n      ?",
        "grant !== undefined && grant.forced === undefined\n      ?",
      ],
    ],
  },
  {
    id: "M4",
    what: "expiry exclusive instead of inclusive",
    killers: ["I8"],
    world: "1:",
    edits: [[validity, "return now < grant.expiresAt && grant", "return now <= grant.expiresAt && grant"]],
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
    world: "1:",
    edits: [
      [
        acquire,
        "  const needs = advance(draft, true);\n",
        "  const needs = command.waitMs === 0 ? undefined : advance(draft, true);\n",
      ],
      [
        acquire,
        "if (!isGrantable(draft, command.mode)) return",
        "const isFree = draft.grants.every(({ expiresAt }) => draft.now >= expiresAt);\n" +
          "  if (command.waitMs === 0 ? !isFree : !isGrantable(draft, command.mode)) return",
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
        'return draft.queue.some((ticket) => ticket.mode === "exclusive" || ticket.limited === true);',
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
        advance,
        '  if (liveness === "dead") {\n    passOver(draft, head);\n    return "removed";',
        '  if (liveness === "dead") {\n    return "stop";',
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
    edits: [[advance, '(grant) => grant.state === "pending" && now', "(grant) => grant.token < 0 && now"]],
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
    ],
  },
  {
    id: "M14",
    what: "attempt id not looked for after unknown",
    killers: ["I23"],
    world: "2:",
    edits: [
      [acquire, "  if (!command.isRepeat) return undefined;\n", "  if (Date !== null) return undefined;\n"],
      [acquire, "command.isRepeat ? findTicket(draft, command.id, null) : undefined;", "undefined;"],
    ],
  },
  {
    id: "M15",
    what: "abort of a granted attempt does not cancel it",
    killers: ["I19", "I24"],
    world: "2:",
    edits: [[cancel, '    draft.endGrant(grant, "cancelled");\n', ""]],
  },
  {
    id: "M16",
    what: "cancel after unknown writes nothing",
    killers: ["I24"],
    world: "2:",
    edits: [
      [
        cancel,
        "if (draft.endedOf(id) === undefined) {",
        "if (found !== undefined && draft.endedOf(id) === undefined) {",
      ],
      [cancel, "  draft.hasChanged = true;\n", ""],
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
        "  settleIfGranted(draft, id);\n  const needs = advance(draft, true);\n" +
          "  if (needs !== undefined) return needs;\n",
        "  settleIfGranted(draft, id);\n",
      ],
    ],
  },
  {
    id: "M20",
    what: "release frees without granting the successor",
    killers: ["I13"],
    world: "2:",
    edits: [
      [
        release,
        "isWalkDue || draft.hasChanged ? walk(draft, false) : undefined;\n  const isFreed",
        "undefined;\n  const isFreed",
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
        advance,
        '  draft.more ||= liveness === "beyond";\n  if (liveness === "beyond" ||',
        '  if (liveness === "beyond" ||',
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
      [lease, 'outcome === "unknown" ? (facts.sent?.shortenedMs ?? null) : null;', "null as number | null;"],
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
        advance,
        "    if (isBlocking(draft, grant)) continue;\n    if (grant.forced",
        '    if (isBlocking(draft, grant) || grant.kind !== "lease") continue;\n    if (grant.forced',
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
        advance,
        "draft.replaceGrant(grant.id, { ...grant, expiresAt: now + grant.spanMs });",
        "draft.replaceGrant(grant.id, { ...grant, expiresAt: now });",
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
          "      if (this.now >= expiresAt) this.#reclaimed.push({ token, owner, kind });\n    }\n",
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
    edits: [["core/lock/draft.ts", "this.now = snapshot.now;", "this.now = Date.now();"]],
  },
  {
    id: "M44",
    what: "span not written together with the end",
    killers: ["I31"],
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
    edits: [[renew, "  draft.replaceGrant(grant.id, {\n", "  if (moves) draft.replaceGrant(grant.id, {\n"]],
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
      [cancel, '    if (grant.presence !== scope.presence) return "foreign";\n', ""],
      [
        cancel,
        '  if (found !== undefined && found.ticket.presence !== scope.presence) return "foreign";\n',
        "",
      ],
    ],
  },
];
