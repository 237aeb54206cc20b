/**
 * The model with one line changed, each of which Spin must find: a model that accepts everything
 * proves nothing.
 */
export interface ModelMutant {
  readonly name: string;
  /** Text that stands in the model exactly once. */
  readonly from: string;
  readonly to: string;
  /** The invariant that is broken, or `settles` when a waiting call never ends. */
  readonly breaks: string;
  /** The bounds in which it shows. */
  readonly bounds: "lock" | "resource";
  readonly isQuick: boolean;
}

export const modelMutants: readonly ModelMutant[] = [
  {
    name: "the token is not raised",
    from: "  counter++;",
    to: "  skip;",
    breaks: "I1",
    bounds: "lock",
    isQuick: true,
  },
  {
    name: "expiry is exclusive: a renewal at the end is taken",
    from: ":: left[a] > 0 && (does == ask || does == renew && status[a] == held) ->",
    to: ":: (does == ask && left[a] > 0 || does == renew && status[a] == held) ->",
    breaks: "I8",
    bounds: "resource",
    isQuick: true,
  },
  {
    name: "release ignores the id",
    from: ":: does == release && status[a] == held -> finish(a)",
    to: ":: does == release && status[1] == held -> finish(1)",
    breaks: "I2 I7",
    bounds: "lock",
    isQuick: true,
  },
  {
    name: "the guard has no marks",
    from: ":: writeMode[c] == exclusive && write[c] >= cacheX && write[c] >= cacheS ->",
    to: ":: writeMode[c] == exclusive ->",
    breaks: "I26",
    bounds: "resource",
    isQuick: true,
  },
  {
    name: "the guard keeps its mark in memory only",
    from: "    markX = cacheX",
    to: "    skip",
    breaks: "I26",
    bounds: "resource",
    isQuick: false,
  },
  {
    name: "the local deadline counts from the answer",
    from: "phase[c] == waits -> phase[c] = holds; until[c] = fresh[c]",
    to: "phase[c] == waits -> phase[c] = holds; until[c] = LEASE",
    breaks: "I9",
    bounds: "lock",
    isQuick: true,
  },
  {
    name: "the answer of a late renewal revives a lost handle",
    from: ":: call[c] == granted && phase[c] == holds && until[c] > 0 -> until[c] = fresh[c]",
    to: ":: call[c] == granted && phase[c] == holds -> until[c] = fresh[c]",
    breaks: "I10",
    bounds: "resource",
    isQuick: false,
  },
  {
    name: "the sweep does not raise the floor",
    from: "    floor = counter;",
    to: "    skip;",
    breaks: "I1",
    bounds: "lock",
    isQuick: false,
  },
  {
    name: "a dead ticket is granted",
    from: ":: !present[head] -> finish(head)",
    to: ":: !present[head] -> grant(head)",
    breaks: "I6",
    bounds: "lock",
    isQuick: false,
  },
  {
    name: "a grant counts as over one tick before its end",
    from: ":: j != a && isLive(j) && conflict(j, a) -> isFree = 0",
    to: ":: j != a && isLive(j) && left[j] > 1 && conflict(j, a) -> isFree = 0",
    breaks: "I5",
    bounds: "lock",
    isQuick: false,
  },
  {
    name: "a lost answer is taken for a grant",
    from: ":: d_step { call[me] != nothing -> call[me] = nothing; fresh[me] = 0 }",
    to: ":: d_step { call[me] != nothing -> call[me] = granted }",
    breaks: "I2 I7",
    bounds: "lock",
    isQuick: false,
  },
  {
    name: "an attempt that has ended is queued again by a late packet",
    from: ":: does == ask && status[a] == unknown ->",
    to: ":: does == ask && (status[a] == unknown || status[a] == ended) ->",
    breaks: "I6",
    bounds: "lock",
    isQuick: false,
  },
  {
    name: "a dead ticket stays at the head",
    from: ":: !present[head] -> finish(head)",
    to: ":: !present[head] -> break",
    breaks: "settles",
    bounds: "lock",
    isQuick: false,
  },
  {
    name: "a lapsed grant keeps others out",
    from: ":: j != a && isLive(j) && conflict(j, a) -> isFree = 0",
    to: ":: j != a && (status[j] == held || isLive(j)) && conflict(j, a) -> isFree = 0",
    breaks: "settles",
    bounds: "lock",
    isQuick: true,
  },
];

/** The mutants that are tried on every change; the long run tries all. */
export const quickMutants: readonly ModelMutant[] = modelMutants.filter(({ isQuick }) => isQuick);

/** The model with the mutant's line changed; throws when the line is not there exactly once. */
export function mutated(model: string, { name, from, to }: ModelMutant): string {
  const parts = model.split(from);
  if (parts.length !== 2) throw new Error(`the line of "${name}" stands ${parts.length - 1} times`);
  return parts.join(to);
}
