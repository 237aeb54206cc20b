import type { Mode } from "../../src/core/lock/record.ts";
import type { RecordedCall } from "./recorded-call.ts";

/** A reproducible source of chance: the same seed gives the same numbers from 0 up to 1. */
export function chanceOf(seed: number): () => number {
  let state = (seed ^ 0x9e37_79b9) >>> 0;
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Holding {
  readonly token: number;
  readonly mode: Mode;
  endMs: number;
}

interface Client {
  readonly name: string;
  freeMs: number;
  holds: Holding | undefined;
}

const leaseMs = 400;
/** Calls are stretched by up to this much to either side of the instant at which they happen. */
const stretchMs = 30;

/**
 * A history that did happen: a sequential lock is called at instants that follow each other, and
 * each call is stretched to an interval around its instant. A client has one call at a time.
 */
export function randomHistory(
  seed: number,
  { calls: wanted, clients: many }: { readonly calls: number; readonly clients: number },
): readonly RecordedCall[] {
  const chance = chanceOf(seed);
  const calls: RecordedCall[] = [];
  const clients = Array.from({ length: many }, (_, place): Client => ({
    name: `c${place}`,
    freeMs: 0,
    holds: undefined,
  }));
  let holders: readonly Holding[] = [];
  let counter = 0;
  let nowMs = 0;
  const isFreeFor = (mode: Mode): boolean =>
    holders.every((each) => each.mode === "shared" && mode === "shared");
  while (calls.length < wanted) {
    nowMs += 1 + chance() * 8;
    const client = clients[Math.floor(chance() * many)] as Client;
    if (client.freeMs >= nowMs) continue;
    // Now and then a holder is forgotten, and its grant runs out.
    holders = holders.filter(({ endMs }) => endMs > nowMs);
    const timed = {
      client: client.name,
      name: "n",
      calledMs: Math.max(client.freeMs, nowMs - chance() * stretchMs),
      returnedMs: nowMs + chance() * stretchMs,
    };
    client.freeMs = timed.returnedMs;
    const { holds } = client;
    if (holds === undefined) {
      const mode = chance() < 0.3 ? "shared" : "exclusive";
      if (!isFreeFor(mode)) {
        calls.push({ ...timed, do: "acquire", mode, waits: false, answer: "fail" });
        continue;
      }
      counter += chance() < 0.1 ? 2 : 1;
      client.holds = { token: counter, mode, endMs: nowMs + leaseMs };
      holders = [...holders, client.holds];
      const { token } = client.holds;
      const waits = chance() < 0.2;
      calls.push({ ...timed, do: "acquire", mode, waits, leaseMs, answer: "ok", token });
      continue;
    }
    const { token } = holds;
    const isLive = holders.includes(holds);
    const draw = chance();
    if (draw < 0.4) {
      if (isLive) holds.endMs = nowMs + leaseMs;
      const answer = isLive ? "ok" : "fail";
      calls.push({ ...timed, do: "renew", token, leaseMs, answer });
    } else if (draw < 0.85) {
      holders = holders.filter((each) => each !== holds);
      const answer = isLive ? "ok" : "fail";
      calls.push({ ...timed, do: "release", token, wasLost: false, answer });
      client.holds = undefined;
    } else if (draw < 0.9) {
      const ended = holders.map((each) => each.token);
      holders = [];
      calls.push({ ...timed, do: "force", answer: "ok", ended });
    } else {
      client.holds = undefined;
      client.freeMs += chance() < 0.5 ? leaseMs : 0;
    }
  }
  return calls;
}

/** Ways in which a lock, or whoever recorded it, could have answered wrongly. */
export const wrongAnswers = [
  "a refused try is granted",
  "a token goes back",
  "a refused renewal is accepted",
  "a renewal is lost",
  "a release that freed says that it did not",
  "a release is forgotten",
  "a granted call is refused",
  "a forced end leaves one out",
] as const;

/** The history with one answer made wrong; undefined where there is no such answer. */
export function withWrongAnswer(
  calls: readonly RecordedCall[],
  how: (typeof wrongAnswers)[number],
  chance: () => number,
): readonly RecordedCall[] | undefined {
  const wrongOf = (call: RecordedCall): readonly RecordedCall[] | undefined =>
    wrongAnswer(call, how, calls);
  const fits = calls.filter((call) => wrongOf(call) !== undefined);
  const victim = fits[Math.floor(chance() * fits.length)];
  if (victim === undefined) return undefined;
  return calls.flatMap((call) => (call === victim ? (wrongOf(call) ?? []) : [call]));
}

/** The call answered wrongly, none at all, or undefined where it does not fit. */
function wrongAnswer(
  call: RecordedCall,
  how: (typeof wrongAnswers)[number],
  calls: readonly RecordedCall[],
): readonly RecordedCall[] | undefined {
  const isOk = call.answer === "ok";
  const isFail = call.answer === "fail";
  const { client, name, calledMs, returnedMs } = call;
  const timed = { client, name, calledMs, returnedMs };
  switch (how) {
    case "a refused try is granted":
      if (call.do !== "acquire" || !isFail) return undefined;
      return [{ ...call, leaseMs, answer: "ok", token: 0.5 + highestBefore(calls, call) }];
    case "a token goes back":
      if (call.do !== "acquire" || call.answer !== "ok" || call.token < 3) return undefined;
      return [{ ...call, token: call.token - 2.5 }];
    case "a refused renewal is accepted":
      return call.do === "renew" && isFail ? [{ ...call, answer: "ok" }] : undefined;
    case "a renewal is lost":
      return call.do === "renew" && isOk ? [{ ...call, answer: "fail" }] : undefined;
    case "a release that freed says that it did not":
      return call.do === "release" && isOk ? [{ ...call, answer: "fail" }] : undefined;
    case "a release is forgotten":
      return call.do === "release" && isOk ? [] : undefined;
    case "a granted call is refused":
      if (call.do !== "acquire" || !isOk) return undefined;
      return [{ ...timed, do: "acquire", mode: call.mode, waits: false, answer: "fail" }];
    case "a forced end leaves one out":
      if (call.do !== "force" || call.answer !== "ok" || call.ended.length === 0) return undefined;
      return [{ ...call, ended: call.ended.slice(1) }];
  }
}

/** Halves keep a made-up token apart from every real one. */
function highestBefore(calls: readonly RecordedCall[], { name, calledMs }: RecordedCall): number {
  const before = calls.filter(
    (call) => call.do === "acquire" && call.name === name && call.calledMs < calledMs,
  );
  return before.reduce((most, call) => Math.max(most, "token" in call ? call.token : 0), 0);
}
