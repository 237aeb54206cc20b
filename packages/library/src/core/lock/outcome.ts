import type { EpochMs } from "../scalars.ts";
import type { Part } from "./scope.ts";
import type { EndFacts, GrantFacts } from "./facts.ts";

/** What a commit did beside answering its command; counted by the process that committed (L113). */
export interface Effects {
  /** Grants made, held at once, for tickets of the deciding space. */
  readonly granted: readonly GrantFacts[];
  readonly reclaimed: readonly EndFacts[];
  readonly withdrawn: readonly EndFacts[];
}

/** A lock on which an advance has come to the widening bound, and where it is to go on (L131). */
export interface LeftOver {
  readonly name: string;
  readonly part: Part;
  /** Tickets below this number have been seen to. */
  readonly from: number;
}

/** The answer to a command, and what its commit did beside it. */
export interface Outcome<Result> {
  readonly now: EpochMs;
  readonly result: Result;
  readonly effects: Effects;
  /** The widening bound was reached: run an advance at once, and the command again if unjudged. */
  readonly more: boolean;
  readonly leftOver: readonly LeftOver[];
}
