import { earlierMutants } from "./mutants-m1-m17.ts";
import { laterMutants } from "./mutants-m20-m50.ts";
import type { Mutant } from "./mutant.ts";

/**
 * The catalogue of mutants: each is one changed line, or one broken promise of the engine, and must
 * be killed by an invariant. The changed line is one of the production file: the text is replaced
 * in a copy of the sources, and it is an error when it is not found there exactly once.
 *
 * The others of the specification belong elsewhere: M18, M19, M27, M28, M37 to M39, M42, M51 to M62
 * to parts that are not built yet; M21 and M46 to the shells' timers and close, and M45 to the
 * engines' check of decisions without writes, all three for the simulation; M24 to world 9, because
 * without drift the margin alone never decides.
 */
export const mutants: readonly Mutant[] = [...earlierMutants, ...laterMutants];
