import { ReadOnlyError, SpaceClosedError } from "../errors.ts";

/** Whether the space still takes calls, and which. */
export class Lifetime {
  readonly #isReadOnly: boolean;
  #isClosed = false;

  constructor(isReadOnly: boolean) {
    this.#isReadOnly = isReadOnly;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
  }

  assertOpen(): void {
    if (this.#isClosed) throw new SpaceClosedError();
  }

  /** Refuses a writing call when the space is closed or read-only (L119, L124). */
  assertWritable(operation: string): void {
    this.assertOpen();
    if (this.#isReadOnly) throw new ReadOnlyError(operation);
  }
}
