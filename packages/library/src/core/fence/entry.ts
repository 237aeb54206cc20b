import type { Mode } from "../lock/record.ts";
import type { FencingToken } from "../scalars.ts";

/** `"permits"` is the mode of whoever holds numbered slots of something that has several. */
export type FenceMode = Mode | "permits";

/**
 * One name with the token under which its holder works: `{ name: "stock", mode: "exclusive", token:
 * 7 }`, or `{ name: "pool", mode: "permits", token: 9, slots: [0, 3] }`.
 */
export interface FenceEntry {
  readonly name: string;
  readonly mode: FenceMode;
  readonly token: FencingToken;
  /** Slots that are held, from 0 on, each once; for mode `"permits"` and for no other. */
  readonly slots?: readonly number[] | undefined;
}

/** What a holder shows to a guarded resource; a lease is one, and so is its `toJSON()`. */
export interface Fenced {
  readonly namespace: string;
  readonly fences: readonly FenceEntry[];
}

export interface FenceOptions {
  /** Show only the entries of these names, one or more. Default: all entries. */
  readonly names?: readonly string[] | undefined;
}
