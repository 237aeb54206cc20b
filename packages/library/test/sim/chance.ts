import type { Entropy } from "../../src/time/clock.ts";

/** The only source of chance of a run: one number in, the same choices out (mulberry32). */
export class Chance implements Entropy {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  fraction(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  id(): string {
    const part = (): string =>
      this.below(2 ** 30)
        .toString(36)
        .padStart(6, "0");
    return `${part()}${part()}${part()}${part()}`.slice(0, 22);
  }

  /** An integer from 0 up to, but not including, `most`. */
  below(most: number): number {
    return Math.floor(this.fraction() * most);
  }

  happens(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<Choice>(choices: readonly Choice[]): Choice {
    return choices[this.below(choices.length)] as Choice;
  }
}
