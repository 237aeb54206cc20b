/** One changed line, or one broken promise of the engine, and who must notice. */
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
