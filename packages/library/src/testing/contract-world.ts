import assert from "node:assert/strict";

import type { Write } from "../core/decision.ts";
import type { RecordKey } from "../core/key.ts";
import type { EpochMs, Json } from "../core/scalars.ts";
import type { CallOptions, Engine } from "../engine/contract.ts";
import { EngineUnavailableError } from "../errors.ts";
import type { Clock } from "../time/clock.ts";
import { systemClock } from "../time/system-clock.ts";

/** Two independent clients of one fresh, empty store. */
export interface ContractStore {
  readonly first: Engine;
  readonly second: Engine;
  /** The clock that the engines were given; default the system's. */
  readonly clock?: Clock | undefined;
  /** Closes both clients and removes the store; called after each case. */
  close(): Promise<void>;
}

/** One case of the suite, to be run by any test runner; rejects when the engine fails it. */
export interface ContractCase {
  readonly title: string;
  readonly run: () => Promise<void>;
}

/** What a case is given. */
interface ContractWorld {
  readonly first: Engine;
  readonly second: Engine;
  readonly clock: Clock;
}

export type CaseBody = (world: ContractWorld) => Promise<void>;

/** Longest wait of a case for something that must happen by itself. */
const waitMsMax = 10_000;

/** Turns bodies into cases that make and remove their own world. */
export function casesOf(
  setup: () => Promise<ContractStore>,
  bodies: Readonly<Record<string, CaseBody>>,
): ContractCase[] {
  return Object.entries(bodies).map(([title, body]) => ({
    title,
    run: async (): Promise<void> => {
      const store = await setup();
      try {
        const { first, second } = store;
        await body({ first, second, clock: store.clock ?? systemClock });
      } finally {
        await store.close();
      }
    },
  }));
}

/** Stores `value` under `key`; null deletes. */
export function put(engine: Engine, key: RecordKey, value: Json | null): Promise<void> {
  const write: Write = { key, value };
  return engine.transact([key], () => ({ writes: [write], outcome: undefined }), {});
}

/** The record as a checked decision sees it; `undefined` when absent. */
export function get(engine: Engine, key: RecordKey): Promise<Json | undefined> {
  return engine.transact([key], (seen) => ({ writes: [], outcome: seen.get(key) }), {});
}

/** Adds one to the number under `key` and gives the sum. */
export function increment(
  engine: Engine,
  key: RecordKey,
  options: CallOptions = {},
): Promise<number> {
  return engine.transact(
    [key],
    (seen) => {
      const sum = Number(seen.get(key) ?? 0) + 1;
      return { writes: [{ key, value: sum }], outcome: sum };
    },
    options,
  );
}

/** Engine time as a checked decision is given it. */
export function engineTime(engine: Engine): Promise<EpochMs> {
  const key = ["contract", "time"];
  return engine.transact([key], (seen) => ({ writes: [], outcome: seen.now }), {});
}

/** The error with which `call` rejects; fails when it resolves. */
export async function errorOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  return assert.fail("the call resolved, and it should have been rejected");
}

/** Asserts that `call` is refused for good and that nothing was stored. */
export async function assertRefused(
  call: Promise<unknown>,
  isTransient: boolean,
): Promise<EngineUnavailableError> {
  const error = await errorOf(call);
  assert.ok(error instanceof EngineUnavailableError, `unexpected error: ${String(error)}`);
  assert.equal(error.outcome, "none");
  assert.equal(error.isTransient, isTransient);
  return error;
}

/** What `promise` gives, or a failure naming `what` when it takes too long. */
export async function within<Value>(
  clock: Clock,
  promise: Promise<Value>,
  what: string,
): Promise<Value> {
  let timer: { cancel(): void } | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const set = clock.timer(waitMsMax, () => reject(new Error(`${what}: nothing came`)));
    set.setReferenced(true);
    timer = set;
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer?.cancel();
  }
}
