import type { Mode } from "../../src/core/lock/record.ts";

/** What all processes of a history have in common. */
export const historySettings = Object.freeze({
  leaseMs: 1_000,
  waitMs: 4_000,
  presenceMs: 3_000,
  confirmMs: 1_000,
});

/** The beginning of a call; `id` is its number in its process, `client` the flow that made it. */
export type CallLine = {
  readonly kind: "call";
  readonly id: number;
  readonly client: number;
  readonly name: string;
  readonly atMs: number;
} & (
  | { readonly do: "acquire"; readonly mode: Mode; readonly waits: boolean }
  | { readonly do: "renew"; readonly token: number }
  /** `remainingMs` is what was left until the local deadline when it was called. */
  | { readonly do: "release"; readonly token: number; readonly remainingMs: number }
  | { readonly do: "force" }
);

/** What a process of a history writes down; instants are of the host's monotonic clock, in ms. */
export type HistoryLine =
  | CallLine
  | {
      readonly kind: "ok";
      readonly id: number;
      readonly atMs: number;
      readonly token?: number;
      readonly ended?: readonly number[];
    }
  /** Refused, not freed, or lost by what the store says. */
  | { readonly kind: "fail"; readonly id: number; readonly atMs: number }
  /** It may have happened or not. */
  | {
      readonly kind: "unknown";
      readonly id: number;
      readonly atMs: number;
      readonly code: string;
    }
  /** The holder was vouched for at this instant. */
  | { readonly kind: "still"; readonly name: string; readonly token: number; readonly atMs: number }
  /** The calendar was found to have jumped against the monotonic clock. */
  | { readonly kind: "shift"; readonly byMs: number }
  | { readonly kind: "unhandled"; readonly error: string }
  | { readonly kind: "finished" };
