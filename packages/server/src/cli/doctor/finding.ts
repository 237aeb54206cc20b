/** `note` deserves a look, `wrong` keeps locks from working as promised. */
export type Verdict = "good" | "note" | "wrong";

/** One thing that was examined. */
export interface Finding {
  readonly subject: string;
  readonly verdict: Verdict;
  readonly text: string;
  /** What to do about it. */
  readonly cure?: string;
}
