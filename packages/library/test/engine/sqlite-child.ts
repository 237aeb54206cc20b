// A process of its own for the tests: does what its first argument says and prints JSON lines.
import { openSqlite } from "../../src/engines/sqlite/index.ts";
import type { Engine } from "../../src/engine/contract.ts";
import { EngineUnavailableError } from "../../src/errors.ts";

const [task = "", path = "", ...rest] = process.argv.slice(2);
const say = (fact: unknown): void => void process.stdout.write(`${JSON.stringify(fact)}\n`);

const tasks: Readonly<Record<string, () => Promise<void>>> = {
  /** Adds one to a record again and again, `rest[1]` callers at once; says each sum it was told. */
  async increment() {
    const engine = await openSqlite(path);
    const [count, callers] = [Number(rest[0]), Number(rest[1])];
    say("ready");
    await Promise.all(
      Array.from({ length: callers }, async () => {
        for (let n = 0; n < count / callers; n += 1) say(await add(engine, "hot"));
      }),
    );
    await engine.close();
  },

  /** Fills the store until it refuses, then says how, and whether small updates still work. */
  async fill() {
    const engine = await openSqlite(path, { thread: "caller" });
    await add(engine, "small");
    const text = "x".repeat(100_000);
    let stored = 0;
    try {
      for (; stored < 1000; stored += 1) await put(engine, `fill-${stored}`, text);
      say("never refused");
    } catch (error) {
      say(describe(error));
    }
    const sum = await retry(() => add(engine, "small"));
    const last = await get(engine, `fill-${stored - 1}`);
    say({ sum, isLastThere: last === text });
    await engine.close();
  },

  /** Adds one a number of times; says each outcome, and at the end the stored sum. */
  async outcomes() {
    const engine = await openSqlite(path, { thread: rest[1] === "worker" ? "worker" : "caller" });
    for (let n = 0; n < Number(rest[0]); n += 1) {
      say(await add(engine, "hot").catch(describe));
    }
    say({ stored: await get(engine, "hot") });
    await engine.close();
  },

  /** Commits for a second and says how late a timer of 5 ms was, at most and in the middle. */
  async lateness() {
    const engine = await openSqlite(path);
    await add(engine, "hot");
    const late: number[] = [];
    let dueMs = performance.now() + 5;
    const timer = setInterval(() => {
      const nowMs = performance.now();
      late.push(nowMs - dueMs);
      dueMs = nowMs + 5;
    }, 5);
    const untilMs = performance.now() + 1000;
    let commits = 0;
    while (performance.now() < untilMs) {
      await add(engine, "hot");
      commits += 1;
    }
    clearInterval(timer);
    late.sort((x, y) => x - y);
    say({ commits, ticks: late.length, middle: late[late.length >> 1], most: late.at(-1) });
    await engine.close();
  },

  /** Leaves an engine open and idle; the process must end by itself. */
  async idle() {
    const engine = await openSqlite(path);
    const { signal } = new AbortController();
    engine.watch(["presence", "x", "someone"], { signal });
    engine.watch(["lock", "x"], { signal });
    say(await add(engine, "hot"));
  },
};

await tasks[task]?.();

function add(engine: Engine, name: string): Promise<number> {
  const key = ["test", name];
  return engine.transact(
    [key],
    (seen) => {
      const sum = Number(seen.get(key) ?? 0) + 1;
      return { writes: [{ key, value: sum }], outcome: sum };
    },
    {},
  );
}

function put(engine: Engine, name: string, value: string): Promise<void> {
  const key = ["test", name];
  return engine.transact([key], () => ({ writes: [{ key, value }], outcome: undefined }), {});
}

function get(engine: Engine, name: string): Promise<unknown> {
  const key = ["test", name];
  return engine.transact([key], (seen) => ({ writes: [], outcome: seen.get(key) }), {});
}

async function retry<Value>(act: () => Promise<Value>): Promise<Value> {
  return act().catch(act);
}

function describe(error: unknown): unknown {
  if (!(error instanceof EngineUnavailableError)) return String(error);
  const { outcome, isTransient, message } = error;
  return { outcome, isTransient, message };
}
