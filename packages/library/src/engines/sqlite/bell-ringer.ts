import { closeSync, constants, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

import type { MonotonicMs } from "../../core/scalars.ts";

/** Bells kept open; each costs a file descriptor. */
const openMax = 256;
/** An open bell is opened again after this long, in case its file was made anew. */
const openForMs = 5000;
/** A bell that was not there is not looked for again so soon. */
const absentForMs = 100;
/** Absent bells remembered. */
const absentMax = 4096;

const oneByte = Buffer.from([1]);

/**
 * Rings the bells of presences: one byte at the beginning of a file that its owner watches.
 *
 * A ring is a hint: every failure of one is somebody's missing news until his next look, and no
 * reason to fail a commit that has succeeded.
 */
export class BellRinger {
  readonly #folder: string;
  readonly #monotonicMs: () => MonotonicMs;
  readonly #open = new Map<string, { readonly file: number; readonly openedMs: MonotonicMs }>();
  readonly #absent = new Map<string, MonotonicMs>();

  constructor(folder: string, monotonicMs: () => MonotonicMs) {
    this.#folder = folder;
    this.#monotonicMs = monotonicMs;
  }

  ring(bell: string): void {
    const nowMs = this.#monotonicMs();
    const absentMs = this.#absent.get(bell);
    if (absentMs !== undefined && nowMs - absentMs < absentForMs) return;
    try {
      writeSync(this.#fileOf(bell, nowMs), oneByte, 0, 1, 0);
    } catch {
      this.#forget(bell);
      if (this.#absent.size >= absentMax) this.#absent.clear();
      this.#absent.set(bell, nowMs);
    }
  }

  /** Removes the bell of a presence whose record was deleted: its space has closed, or is dead. */
  remove(bell: string): void {
    this.#forget(bell);
    try {
      rmSync(join(this.#folder, bell), { force: true });
    } catch {
      // A bell that cannot be removed disturbs nobody; the commit has succeeded all the same.
    }
  }

  close(): void {
    for (const bell of this.#open.keys()) this.#forget(bell);
    this.#absent.clear();
  }

  #fileOf(bell: string, nowMs: MonotonicMs): number {
    const known = this.#open.get(bell);
    if (known !== undefined && nowMs - known.openedMs < openForMs) return known.file;
    this.#forget(bell);
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size >= openMax) this.#forget(oldest);
    const file = openSync(join(this.#folder, bell), constants.O_WRONLY);
    this.#absent.delete(bell);
    this.#open.set(bell, { file, openedMs: nowMs });
    return file;
  }

  #forget(bell: string): void {
    const known = this.#open.get(bell);
    if (known === undefined) return;
    this.#open.delete(bell);
    try {
      closeSync(known.file);
    } catch {
      // A descriptor that cannot be closed is closed all the same.
    }
  }
}
