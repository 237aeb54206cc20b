import type { Mode } from "../../src/core/lock/record.ts";

/** One call of a client, with the instants between which it took effect, if it did. */
interface Timed {
  readonly client: string;
  readonly name: string;
  readonly calledMs: number;
  /** Infinite for a call that never returned. */
  readonly returnedMs: number;
}

/**
 * A call and its answer. `unknown` may or may not have happened, and whether it did is never told.
 *
 * - acquire, by `acquire` (`waits`) or `tryAcquire`: `ok` with a token; `fail` when refused or when
 *   the wait was over. The ticket or grant of an unknown one may stand until `standsUntilMs`.
 * - renew, of the grant with `token`: `ok`, or `fail` when the lease was lost.
 * - release: `ok` when it freed, `fail` when the grant was not held any more. `wasLost` tells that
 *   the handle had been lost before: then whatever the engine still holds is ended by a `fail`.
 * - force: `ok` with the tokens that it ended.
 */
export type RecordedCall = Timed &
  (
    | {
        readonly do: "acquire";
        readonly mode: Mode;
        readonly waits: boolean;
        readonly leaseMs: number;
        readonly answer: "ok";
        readonly token: number;
      }
    | {
        readonly do: "acquire";
        readonly mode: Mode;
        readonly waits: boolean;
        readonly answer: "fail";
      }
    | {
        readonly do: "acquire";
        readonly mode: Mode;
        readonly waits: boolean;
        readonly answer: "unknown";
        readonly standsUntilMs: number;
      }
    | {
        readonly do: "renew";
        readonly token: number;
        readonly leaseMs: number;
        readonly answer: "ok" | "fail" | "unknown";
      }
    | {
        readonly do: "release";
        readonly token: number;
        readonly wasLost: boolean;
        readonly answer: "ok" | "fail" | "unknown";
      }
    | { readonly do: "force"; readonly answer: "ok"; readonly ended: readonly number[] }
    | { readonly do: "force"; readonly answer: "unknown" }
  );

export type AcquireCall = RecordedCall & { readonly do: "acquire" };
export type GrantedCall = AcquireCall & { readonly answer: "ok" };

/** One line for people. */
export function callText(call: RecordedCall): string {
  const { client, name, calledMs, returnedMs, answer } = call;
  const token = "token" in call ? ` ${call.token}` : "";
  const mode = call.do === "acquire" ? ` ${call.mode}` : "";
  const span = `${calledMs.toFixed(1)}..${returnedMs.toFixed(1)}`;
  return `${client} ${call.do} ${name}${mode}${token}: ${answer} (${span})`;
}
