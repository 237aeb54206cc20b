import type { Clock } from "leasehold";

import type { Settings } from "../../config.ts";
import type { TextOutput } from "../../output/text-output.ts";

/**
 * How much a message matters: `detail` is for programs only, `note` is for people too unless they
 * want quiet, and `error` is always told.
 */
type Weight = "detail" | "note" | "error";

/** One thing that happened, for programs (event and facts) and for people (text). */
interface Message {
  readonly event: string;
  readonly weight: Weight;
  readonly facts?: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** Tells on standard error what the wrapper does; the command's own output is never touched. */
export class RunReport {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  readonly #err: TextOutput;
  readonly #clock: Clock;

  constructor(err: TextOutput, clock: Clock, { isJson, isQuiet }: Settings) {
    this.#err = err;
    this.#clock = clock;
    this.isJson = isJson;
    this.isQuiet = isQuiet;
  }

  /** Whether people may see a line that is written over and over. */
  get isLive(): boolean {
    return this.#err.isTerminal && !this.isJson && !this.isQuiet;
  }

  say({ event, weight, facts = {}, text }: Message): void {
    if (this.isQuiet && weight !== "error") return;
    if (this.isJson) {
      const at = new Date(this.#clock.wallMs()).toISOString();
      this.#err.json({ event, at, ...facts, text });
    } else if (weight !== "detail") {
      this.#err.line(`leasehold: ${text}`);
    }
  }
}
