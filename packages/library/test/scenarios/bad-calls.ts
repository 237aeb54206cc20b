import type { Lease } from "../../src/lock/lease-api.ts";
import type { Space } from "../../src/lock/space-api.ts";

/** A call as plain JavaScript may write it, with one wrong value in it. */
export type BadCall = (space: Space, lease: Lease, value: never) => unknown;

export interface Row {
  readonly parameter: string;
  readonly values: readonly unknown[];
  readonly calls: readonly BadCall[];
}

const symbol = Symbol("odd");
const lookalike = { toString: () => "n" };
const noText = [undefined, null, 7, true, 10n, symbol, ["n"], lookalike];
const noDuration = ["5x", "", "5", Number.NaN, null, true, 10n, symbol, [5], {}, -Infinity];
const noSignal = [null, 0, true, "signal", {}, new AbortController()];
const noFunction = [null, 5, "work", {}];
const noFlag = [null, 0, 1, "true", {}];
export const noOptions = [null, 5, true, "text", symbol, ["wait"]];
const noCount = [0, -1, 1.5, Number.NaN, Infinity, 2 ** 53, "5", null, 10n];

const acquiring: readonly ((options: object) => BadCall)[] = [
  (options) => (space) => space.acquire("n", options),
  (options) => (space) => space.tryAcquire("n", options),
  (options) => (space) => space.using("n", options, () => 1),
];
const claiming: readonly ((options: object) => BadCall)[] = [
  (options) => (space) => space.claim("n", "o", options),
  (options) => (space) => space.tryClaim("n", "o", options),
];

/** Every acquiring call with this option; those of claims too, where they have it. */
function withOption(name: string, isOfClaims: boolean): readonly BadCall[] {
  const shapes = [...acquiring, ...(isOfClaims ? claiming : [])];
  return shapes.map(
    (shape): BadCall =>
      (space, lease, value) =>
        shape({ [name]: value })(space, lease, value),
  );
}

/** Every parameter of every call, with values that are wrong for it. */
export const badCalls: readonly Row[] = [
  {
    parameter: "name",
    values: [...noText, "", "\uD800", "\uDC00x", "a\0b", "a\nb", "\u007F", "\u0085"],
    calls: [
      (space, _, name) => space.acquire(name),
      (space, _, name) => space.tryAcquire(name),
      (space, _, name) => space.using(name, {}, () => 1),
      (space, _, name) => space.claim(name, "o"),
      (space, _, name) => space.tryClaim(name, "o"),
      (space, _, name) => space.resume(name, "o"),
      (space, _, name) => space.releaseClaim(name, "o"),
      (space, _, name) => space.status(name),
      (space, _, name) => space.why(name),
      (space, _, name) => space.forceRelease(name, { reason: "r" }),
    ],
  },
  {
    parameter: "name",
    values: [null, 7, "", "a\0b", "\uD800", "x".repeat(1_025), ["n"], lookalike],
    calls: [(space, _, name) => space.history({ name })],
  },
  {
    parameter: "name",
    values: ["", "a\0b", "\uD800"],
    calls: [(space, _, name) => space.watch(name)],
  },
  {
    parameter: "what",
    values: [undefined, null, 7, true, symbol, ["n"]],
    calls: [(space, _, what) => space.watch(what)],
  },
  {
    parameter: "prefix",
    values: [null, 7, ["a"], lookalike, "\uD800"],
    calls: [
      (space, _, prefix) => space.watch({ prefix }),
      (space, _, prefix) => space.list({ prefix }),
    ],
  },
  {
    parameter: "owner",
    values: [...noText, "", "\uD800", "a\nb", "o".repeat(257)],
    calls: [
      (space, _, owner) => space.claim("n", owner),
      (space, _, owner) => space.tryClaim("n", owner),
      (space, _, owner) => space.resume("n", owner),
      (space, _, owner) => space.releaseClaim("n", owner),
    ],
  },
  {
    parameter: "owner",
    values: [null, 7, "", "\uD800", "a\nb", "o".repeat(257), lookalike],
    calls: withOption("owner", false),
  },
  {
    parameter: "owner",
    values: [null, 7, "\uD800", lookalike],
    calls: [(space, _, owner) => space.list({ owner })],
  },
  {
    parameter: "lease",
    values: [...noDuration, Infinity, 0.4, 1, 99, "99ms"],
    calls: [
      ...withOption("lease", true),
      (_, lease, value) => lease.renew(value),
      (_, lease, value) => lease.extend(value),
    ],
  },
  {
    parameter: "wait",
    values: [...noDuration, -1, "-1s", 2 ** 53],
    calls: [
      (space, _, wait) => space.acquire("n", { wait }),
      (space, _, wait) => space.using("n", { wait }, () => 1),
      (space, _, wait) => space.claim("n", "o", { wait }),
    ],
  },
  {
    parameter: "wait",
    values: [0, "5s", undefined],
    calls: [
      (space, _, wait) => space.tryAcquire("n", { wait } as object),
      (space, _, wait) => space.tryClaim("n", "o", { wait } as object),
    ],
  },
  {
    parameter: "mode",
    values: [null, "", "Exclusive", "write", 1, ["shared"]],
    calls: withOption("mode", false),
  },
  {
    parameter: "mode",
    values: ["exclusive", "shared"],
    calls: claiming.map(
      (shape): BadCall =>
        (space, lease, mode) =>
          shape({ mode })(space, lease, mode),
    ),
  },
  {
    parameter: "renew",
    values: [null, "never", true, false, ""],
    calls: [...withOption("renew", false), (space, _, renew) => space.resume("n", "o", { renew })],
  },
  {
    parameter: "lockDelay",
    values: [...noDuration, Infinity, -1, 60_001, "2m"],
    calls: withOption("lockDelay", true),
  },
  {
    parameter: "maxHold",
    values: [...noDuration, Infinity, -1],
    calls: [
      ...withOption("maxHold", false),
      (space, _, maxHold) => space.resume("n", "o", { maxHold }),
    ],
  },
  { parameter: "maxHold", values: [0, 29_999], calls: withOption("maxHold", false) },
  {
    parameter: "note",
    values: [null, 7, {}, "\uD800", "n".repeat(1_025)],
    calls: withOption("note", true),
  },
  {
    parameter: "signal",
    values: noSignal,
    calls: [
      ...withOption("signal", true),
      (space, _, signal) => space.resume("n", "o", { signal }),
      (space, _, signal) => space.status("n", { signal }),
      (space, _, signal) => space.why("n", { signal }),
      (space, _, signal) => space.list({ signal }),
      (space, _, signal) => space.watch("n", { signal }),
      (space, _, signal) => space.history({ signal }),
      (space, _, signal) => space.sweep({ signal }),
    ],
  },
  {
    parameter: "refused",
    values: noFunction,
    calls: [
      (space, _, refused) => space.tryAcquire("n", { refused }),
      (space, _, refused) => space.tryClaim("n", "o", { refused }),
    ],
  },
  {
    parameter: "work",
    values: [undefined, ...noFunction],
    calls: [(space, _, work) => space.using("n", {}, work)],
  },
  {
    parameter: "ifUnresumed",
    values: noFlag,
    calls: [(space, _, ifUnresumed) => space.resume("n", "o", { ifUnresumed })],
  },
  {
    parameter: "state",
    values: [null, "", "HELD", 1, {}],
    calls: [(space, _, state) => space.list({ state })],
  },
  {
    parameter: "limit",
    values: [...noCount, 1_001],
    calls: [(space, _, limit) => space.list({ limit })],
  },
  {
    parameter: "cursor",
    values: [null, 7, {}, "\uD800"],
    calls: [(space, _, cursor) => space.list({ cursor })],
  },
  {
    parameter: "reason",
    values: [undefined, null, 7, "", "\uD800", "r".repeat(1_025), lookalike],
    calls: [
      (space, _, reason) => space.forceRelease("n", { reason }),
      (space, _, reason) => space.raiseFloor({ to: 1, reason }),
    ],
  },
  {
    parameter: "token",
    values: noCount,
    calls: [(space, _, token) => space.forceRelease("n", { reason: "r", token })],
  },
  {
    parameter: "noDelay",
    values: noFlag,
    calls: [(space, _, noDelay) => space.forceRelease("n", { reason: "r", noDelay })],
  },
  {
    parameter: "since",
    values: [-1, 1.5, Number.NaN, Infinity, "5", null, new Date(0)],
    calls: [(space, _, since) => space.history({ since })],
  },
  {
    parameter: "kinds",
    values: [null, "granted", 5, {}],
    calls: [(space, _, kinds) => space.history({ kinds })],
  },
  {
    parameter: "kinds",
    values: [undefined, null, "Granted", 5],
    calls: [(space, _, kind) => space.history({ kinds: ["granted", kind] })],
  },
  {
    parameter: "budget",
    values: noCount,
    calls: [(space, _, budget) => space.sweep({ budget })],
  },
  {
    parameter: "to",
    values: [-1, 1.5, Number.NaN, Infinity, 2 ** 53, "5", null, undefined, 10n],
    calls: [(space, _, to) => space.raiseFloor({ to, reason: "r" })],
  },
  {
    parameter: "event",
    values: [undefined, null, "", "Lost", "__proto__", "toString", 5],
    calls: [(space, _, event) => space.on(event, () => undefined)],
  },
  {
    parameter: "listener",
    values: [undefined, ...noFunction],
    calls: [(space, _, listener) => space.on("lost", listener)],
  },
  {
    parameter: "grace",
    values: [...noDuration, Infinity, -1],
    calls: [(space, _, grace) => space.close({ grace })],
  },
  {
    parameter: "keepTickets",
    values: noFlag,
    calls: [(space, _, keepTickets) => space.close({ keepTickets })],
  },
];

/** Every call that takes options, with what it takes beside them. */
export const optionCalls: Readonly<Record<string, BadCall>> = {
  acquire: (space, _, options) => space.acquire("n", options),
  tryAcquire: (space, _, options) => space.tryAcquire("n", options),
  using: (space, _, options) => space.using("n", options, () => 1),
  claim: (space, _, options) => space.claim("n", "o", options),
  tryClaim: (space, _, options) => space.tryClaim("n", "o", options),
  resume: (space, _, options) => space.resume("n", "o", options),
  status: (space, _, options) => space.status("n", options),
  why: (space, _, options) => space.why("n", options),
  list: (space, _, options) => space.list(options),
  watch: (space, _, options) => space.watch("n", options),
  forceRelease: (space, _, options) => space.forceRelease("n", options),
  history: (space, _, options) => space.history(options),
  sweep: (space, _, options) => space.sweep(options),
  raiseFloor: (space, _, options) => space.raiseFloor(options),
  close: (space, _, options) => space.close(options),
};

/** Every option of a space, with values that are wrong for it. */
export const badSpaceOptions: Readonly<Record<string, readonly unknown[]>> = {
  namespace: [null, 5, "", "a\nb", "\uD800", "x".repeat(1_025)],
  app: [null, 5, "", "a\nb", "x".repeat(257)],
  owner: [null, 5, "", "a\nb", "x".repeat(257)],
  readOnly: noFlag,
  lease: [...noDuration, Infinity, 0, 99, 300_001],
  leaseMax: [...noDuration, Infinity, 0, 99, "31d", "10ms"],
  claimMax: [...noDuration, Infinity, 0, 99, "366d"],
  callTimeout: [...noDuration, Infinity, 99, 300_001],
  confirmWindow: [...noDuration, Infinity, 999, 60_001],
  presenceLease: [...noDuration, Infinity, 2_999, 300_001],
  lookPeriod: [...noDuration, Infinity, 99, 30_001],
  queueLimit: [...noCount, 10_001],
  holderLimit: [...noCount, 1_001],
  audit: [null, "", "ALL", true],
  sweep: [null, true, 0, 999, 3_600_001, Number.NaN],
  retention: [...noDuration, Infinity, 999, "366d"],
  leese: [5],
};

/** Names that are as good as any other, although programs have stumbled over their like. */
export const oddNames = [
  "it's",
  '"quoted"',
  "50%",
  "%00%2F",
  "a/b%2Fc",
  "🔒🗝️",
  "__proto__",
  "constructor",
  "null",
  "{}",
  "-1",
  "lock/default/n",
  "~",
  "\u00A0",
  "\uFEFF",
  "\u202Eabc",
  "x".repeat(1_024),
  "ä".repeat(512),
  "🔒".repeat(256),
];
