import type { Script, World } from "./state.ts";

/**
 * The small worlds of the specification, section 16, as far as they are built: 1, 2 and 6, the
 * claims of 5, and the modes and lock-delays of 3. All lengths are multiples
 * of 21 ms, which is the margin of a lease of 63 ms as well: so the local deadline is at 42 ms, few
 * offsets exist, and ends meet as often as they follow each other.
 */

const base = {
  leaseMs: 63,
  shortMs: 42,
  confirmMs: 21,
  presenceMs: 42,
  lockDelayMs: 0,
  wideningMax: 128,
  retentionMs: 126,
  depthMax: 1_000,
  isRenewed: true,
  floor: 0,
} as const;

const waiter: Script = {
  asks: 1,
  mode: "exclusive",
  kind: "lease",
  owner: "o",
  waitMs: null,
};
const claimer: Script = { ...waiter, asks: 2, kind: "claim" };
const patient: Script = { ...waiter, waitMs: 42 };
const trier: Script = { ...waiter, asks: 2, waitMs: 0 };
const reader: Script = { ...waiter, mode: "shared" };

/**
 * One acquiring call each, every fault once, one fault in all; a minute's worth for each change.
 */
export const smallWorlds: readonly World[] = [
  {
    ...base,
    name: "1: two clients, tries, renewals, one fault [LS79]",
    scripts: [waiter, trier],
    budget: { total: 1, crash: 1, pause: 1, fail: 1, unknown: 1, slow: 1, stale: 1, double: 1 },
  },
  {
    ...base,
    name: "1: two clients, changes of the length, late packets [LS162] [LS163]",
    scripts: [waiter],
    leaseMs: 84,
    budget: { total: 3, change: 2, unknown: 1, slow: 1, double: 1 },
  },
  {
    ...base,
    name: "1: a lock-delay, a forced end, engine time that steps back",
    scripts: [waiter, waiter],
    lockDelayMs: 21,
    budget: { total: 1, crash: 1, force: 1, stepBack: 1, pause: 1 },
  },
  {
    ...base,
    name: "2: three clients, one with a limit, one that only tries, one fault",
    scripts: [waiter, patient, { ...trier, asks: 1 }],
    isRenewed: false,
    budget: { total: 1, crash: 1, abort: 1 },
  },
  {
    ...base,
    name: "2: two clients, two faults of any kind [LS164]",
    scripts: [waiter, patient],
    isRenewed: false,
    budget: {
      total: 2,
      crash: 1,
      pause: 1,
      fail: 1,
      unknown: 1,
      slow: 1,
      abort: 1,
      move: 1,
      stale: 1,
      double: 1,
    },
  },
  {
    ...base,
    name: "2: modes, and a widening bound of one",
    scripts: [waiter, reader, reader],
    isRenewed: false,
    wideningMax: 1,
    budget: { total: 0 },
  },
  {
    ...base,
    name: "5: a claim, resumed twice and released",
    scripts: [claimer, claimer],
    isRenewed: false,
    budget: { total: 1, crash: 1, slow: 1 },
  },
  {
    ...base,
    name: "5: two claims of two owner ids",
    scripts: [claimer, { ...claimer, owner: "p" }],
    isRenewed: false,
    budget: { total: 0 },
  },
  {
    ...base,
    name: "6: sweep, deletion, floor, late packets [LS161]",
    scripts: [trier, trier],
    isRenewed: false,
    floor: 3,
    budget: { total: 3, sweep: 2, unknown: 1, raise: 1, abort: 1 },
  },
];

/** The same with one more fault at a time, and three clients under every fault. */
export const longWorlds: readonly World[] = [
  ...smallWorlds.map((world) => ({
    ...world,
    name: `${world.name}, and one more`,
    budget: { ...world.budget, crash: 1, unknown: 1, slow: 1, total: world.budget.total + 1 },
  })),
  {
    ...base,
    name: "2: three clients that wait, a fault of any kind",
    scripts: [waiter, waiter, patient],
    budget: {
      total: 1,
      crash: 1,
      pause: 1,
      fail: 1,
      unknown: 1,
      slow: 1,
      abort: 1,
      move: 1,
      stale: 1,
      double: 1,
    },
  },
  {
    ...base,
    name: "1: two clients, lengths in no simple proportion",
    scripts: [waiter, trier],
    leaseMs: 1_000,
    shortMs: 400,
    confirmMs: 300,
    presenceMs: 700,
    budget: { total: 1, crash: 1, pause: 1, unknown: 1, slow: 1, stale: 1, change: 1 },
  },
];

/** Small enough to be explored without any reduction. */
export const tinyWorld: World = {
  ...base,
  name: "reduction: two clients",
  scripts: [waiter, { ...waiter, asks: 2 }],
  isRenewed: false,
  depthMax: 9,
  budget: { total: 1, crash: 1, unknown: 1 },
};
