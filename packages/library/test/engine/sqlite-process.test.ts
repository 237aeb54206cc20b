import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { openSqlite } from "../../src/engines/sqlite/index.ts";
import { get } from "../../src/testing/contract-world.ts";
import { startChild } from "./child-process.ts";
import { scratchFolder } from "./scratch-folder.ts";

const hasStrace = spawnSync("strace", ["-V"]).status === 0;
const hot = ["test", "hot"];

let folder: ReturnType<typeof scratchFolder>;
let path: string;

beforeEach(() => {
  folder = scratchFolder();
  path = join(folder.path, "store.db");
});

afterEach(() => folder.remove());

async function storedSum(): Promise<unknown> {
  const engine = await openSqlite(path, { thread: "caller" });
  const sum = await get(engine, hot);
  await engine.close();
  return sum;
}

/** strace that makes the flushes of all threads fail or dawdle. */
function withFlush(inject: string): string[] {
  const flushes = "fsync,fdatasync";
  const quiet = ["-f", "-qq", "-o", "/dev/null", "--seccomp-bpf", "-e", `trace=${flushes}`];
  return ["strace", ...quiet, "-e", `inject=${flushes}:${inject}`];
}

test("two processes that add to one record at once lose nothing", async () => {
  const children = [1, 2].map(() => startChild(["increment", path, "400", "8"]));
  expect(await Promise.all(children.map((child) => child.end))).toEqual([0, 0]);
  const sums = children.flatMap((child) => child.said.slice(1)) as number[];
  expect(sums.toSorted((x, y) => x - y)).toEqual(Array.from({ length: 800 }, (_, n) => n + 1));
  expect(await storedSum()).toBe(800);
}, 60_000);

test("kill -9 between commits loses nothing that was acknowledged [L118]", async () => {
  for (const wanted of [5, 60, 200]) {
    const child = startChild(["increment", path, "100000", "4"]);
    await child.saidAtLeast(wanted);
    child.process.kill("SIGKILL");
    expect(await child.end).toBe("SIGKILL");
    const acknowledged = Math.max(...(child.said.slice(1) as number[]));
    const stored = Number(await storedSum());
    expect(stored).toBeGreaterThanOrEqual(acknowledged);
    expect(stored).toBeLessThanOrEqual(acknowledged + 4);
  }
}, 60_000);

test("a full disk refuses for good, stores nothing of it, and small updates go on", async () => {
  const limit = ["sh", "-c", 'ulimit -f 4000; exec "$@"', "sh"];
  const child = startChild(["fill", path], limit);
  expect(await child.end).toBe(0);
  const [refusal, after] = child.said;
  expect(refusal).toMatchObject({ message: expect.stringMatching(/full|store failed/) });
  expect(after).toEqual({ sum: 2, isLastThere: true });
}, 60_000);

test.skipIf(!hasStrace)(
  "a flush that fails at COMMIT is unknown [L117 LS178]",
  async () => {
    // The first flushes belong to the making of the store; one of the later ones fails once.
    const child = startChild(["outcomes", path, "12", "caller"], withFlush("error=EIO:when=12"));
    expect(await child.end).toBe(0);
    const outcomes = child.said.slice(0, -1);
    const unknown = outcomes.filter((outcome) => typeof outcome === "object");
    expect(unknown).toMatchObject([{ outcome: "unknown", isTransient: true }]);
    const acknowledged = outcomes.filter((outcome) => typeof outcome === "number");
    expect(acknowledged).toHaveLength(11);
    const { stored } = child.said.at(-1) as { stored: number };
    expect([11, 12]).toContain(stored);
    expect(acknowledged).toEqual(acknowledged.toSorted((x, y) => x - y));
  },
  60_000,
);

test.skipIf(!hasStrace)(
  "a slow flush does not block the event loop of the caller",
  async () => {
    const child = startChild(["lateness", path], withFlush("delay_enter=50000"));
    expect(await child.end).toBe(0);
    const [found] = child.said as { commits: number; ticks: number; middle: number }[];
    expect(found?.commits).toBeLessThanOrEqual(20);
    // On the caller's thread there would be some 20 ticks, each late by the rest of a flush.
    expect(found?.ticks).toBeGreaterThan(50);
    expect(found?.middle).toBeLessThan(25);
  },
  60_000,
);

test("an idle engine, watching, does not keep the process alive [L120]", async () => {
  const child = startChild(["idle", path]);
  expect(await child.end).toBe(0);
  expect(child.said).toEqual([1]);
}, 20_000);
