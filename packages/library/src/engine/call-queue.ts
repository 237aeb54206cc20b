/** A first-in first-out queue without the cost of shifting an array. */
export class CallQueue<Call> {
  #calls: Call[] = [];
  #head = 0;

  get length(): number {
    return this.#calls.length - this.#head;
  }

  push(call: Call): void {
    this.#calls.push(call);
  }

  shift(): Call | undefined {
    if (this.#head === this.#calls.length) return undefined;
    const call = this.#calls[this.#head] as Call;
    this.#head += 1;
    if (this.#head === this.#calls.length) {
      this.#calls = [];
      this.#head = 0;
    } else if (this.#head > 4096) {
      this.#calls = this.#calls.slice(this.#head);
      this.#head = 0;
    }
    return call;
  }

  /** Puts calls before all others, in their order. */
  unshift(calls: readonly Call[]): void {
    if (calls.length === 0) return;
    this.#calls = [...calls, ...this.#calls.slice(this.#head)];
    this.#head = 0;
  }
}
