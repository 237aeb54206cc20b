import type { Denial, LockStatus, Space, Timer } from "leasehold";

import { denialText, holderText, placeInQueueText } from "../../output/lock-text.ts";
import { clipToWidth, printable } from "../../output/printable.ts";
import { spanText } from "../../output/time-text.ts";
import type { Cli } from "../cli.ts";
import type { RunReport } from "./run-report.ts";

/** The line on a terminal is renewed so often. */
const refreshMs = 1000;
/** Back to the beginning of the line, which is erased. */
const startOfLine = "\r\u001b[2K";

interface WaitFacts {
  readonly cli: Cli;
  readonly report: RunReport;
  readonly space: Space;
  readonly name: string;
  /** Under this owner the ticket stands in the queue. */
  readonly owner: string;
}

/**
 * Shows for what a run waits: on a terminal one line that is kept up to date, else a line when
 * the wait begins and every 10 s, whenever the space says that it waits.
 */
export class WaitingLine implements Disposable {
  readonly #facts: WaitFacts;
  readonly #startMs: number;
  readonly #unsubscribe: () => void;
  #timer: Timer | undefined;
  #text = "";
  #isWaiting = false;

  constructor(facts: WaitFacts) {
    this.#facts = facts;
    this.#startMs = facts.cli.clock.monotonicMs();
    this.#unsubscribe = facts.space.on("waiting", ({ denial }) => this.#tell(denial));
  }

  /** Whether the lock had to be waited for. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  get waitedMs(): number {
    return Math.round(this.#facts.cli.clock.monotonicMs() - this.#startMs);
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#text !== "") this.#facts.cli.err.raw(startOfLine);
    this.#text = "";
  }

  #tell(denial: Denial): void {
    const { report, name } = this.#facts;
    this.#isWaiting = true;
    if (report.isLive) {
      this.#text = denialText(denial);
      this.#show();
      this.#timer ??= this.#schedule();
      return;
    }
    const { waitedMs } = this;
    const waited = waitedMs < refreshMs ? "" : ` for ${spanText(waitedMs)}`;
    const text = `waiting${waited} for ${printable(name)}: ${denialText(denial)}`;
    report.say({ event: "waiting", weight: "note", facts: { name, waitedMs, denial }, text });
  }

  #schedule(): Timer {
    return this.#facts.cli.clock.timer(refreshMs, () => {
      const { space, name } = this.#facts;
      // The line is only for the eye: when the store does not answer, the old text stays.
      space.status(name).then(
        (status) => this.#refresh(status),
        () => this.#refresh(undefined),
      );
    });
  }

  #refresh(status: LockStatus | undefined): void {
    if (this.#timer === undefined) return;
    if (status !== undefined) this.#text = this.#describe(status);
    this.#show();
    this.#timer = this.#schedule();
  }

  #describe({ holders, queue, depth, now }: LockStatus): string {
    const [holder] = holders;
    const mine = queue.find(({ owner }) => owner === this.#facts.owner);
    const held = holder === undefined ? "being handed over" : holderText(holder, now);
    return `${held}${placeInQueueText(mine?.position ?? null, depth)}`;
  }

  #show(): void {
    const { cli, name } = this.#facts;
    const text = `leasehold: ${spanText(this.waitedMs)} for ${printable(name)}: ${this.#text}`;
    cli.err.raw(startOfLine + clipToWidth(text, (cli.err.columns() ?? 80) - 1));
  }
}
