import type { Mode } from "../../src/core/lock/record.ts";

/** What a process of a history writes down; instants are of the host's monotonic clock, in ms. */
export type HistoryLine =
  | {
      readonly kind: "granted";
      readonly name: string;
      readonly mode: Mode;
      readonly token: number;
      readonly askedMs: number;
      readonly atMs: number;
    }
  | { readonly kind: "still"; readonly name: string; readonly token: number; readonly atMs: number }
  | {
      readonly kind: "released";
      readonly name: string;
      readonly token: number;
      readonly atMs: number;
      readonly wasFreed: boolean;
    }
  | { readonly kind: "error"; readonly code: string }
  | { readonly kind: "unhandled"; readonly error: string }
  | { readonly kind: "finished" };
