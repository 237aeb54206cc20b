/** The signals that ask a command to come to its end. */
export const endingSignals = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const;

export type EndingSignal = (typeof endingSignals)[number];

/** Until disposed, the first ending signal of this process fires `signal` instead of killing it. */
export class Interruption implements Disposable {
  readonly #controller = new AbortController();
  #by: EndingSignal | undefined;

  constructor() {
    for (const name of endingSignals) process.on(name, this.#interrupt);
  }

  /** Fires when this process was told to end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What told it; undefined while nothing did. */
  get by(): EndingSignal | undefined {
    return this.#by;
  }

  [Symbol.dispose](): void {
    for (const name of endingSignals) process.off(name, this.#interrupt);
  }

  #interrupt = (name: NodeJS.Signals): void => {
    this.#by ??= name as EndingSignal;
    this.#controller.abort(new Error(`interrupted by ${name}`));
  };
}
