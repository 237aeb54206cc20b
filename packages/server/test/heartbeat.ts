import { readFileSync } from "node:fs";
import { expect } from "vitest";

import type { Started, World } from "./world.ts";
import { isAlive, until } from "./world.ts";

export const leaseMs = 3000;
/** Enough for the second run to be granted, and to start its command, on a busy machine. */
export const startMsMax = 1500;

/**
 * Writes the scripts of the first and the second command into the folder of a world.
 *
 * `first` starts a grandchild that writes the time every 100 ms, waits, and goes on writing itself
 * when the grandchild has ended before it. `second` writes when it
 * has started and whether that grandchild is still there.
 */
export function writeScripts(world: World, ending = ""): { first: string; second: string } {
  const first = world.script(
    "first",
    `${ending}
echo $$ > first.pid
(while :; do date +%s%N >> beats; sleep 0.1; done) &
echo $! > grandchild.pid
while :; do wait; date +%s%N >> beats; sleep 0.1; done`,
  );
  const second = world.script(
    "second",
    `date +%s%N > second.start
for pid in $(cat first.pid grandchild.pid); do
  grep -q '^State:.[^ZX]' /proc/$pid/status 2>/dev/null && echo $pid >> overlap
done
exit 0`,
  );
  return { first, second };
}

/** Starts the first run and waits until its grandchild is at work. */
export async function startFirst(
  world: World,
  script: string,
  words: readonly string[] = [],
): Promise<Started> {
  const lease = ["--lease", `${leaseMs}ms`, "--grace", "500ms"];
  const first = world.start(["run", "job", ...lease, ...words, "--", script]);
  await until("the first command is at work", () => world.read("beats") !== "");
  await world.readPid("grandchild.pid");
  return first;
}

/** Starts the second run and waits until it stands in the queue. */
export async function startSecond(world: World, script: string): Promise<Started> {
  const second = world.start(["run", "job", "--lease", "3s", "--", script]);
  await until("the second run waits", () => second.stderr().includes("waiting for job"));
  return second;
}

/** Checks that nothing of the first command was there when the second one had started. */
export function expectNoOverlap(world: World): void {
  expect(world.read("overlap")).toBe("");
  const startNs = BigInt(world.read("second.start").trim());
  const beats = world.read("beats").trim().split("\n").map(BigInt);
  expect(beats.filter((beat) => beat > startNs)).toEqual([]);
}

/** The watchdog of a wrapper: the child of that name. */
export function watchdogOf(wrapper: number): number {
  const children = readFileSync(`/proc/${wrapper}/task/${wrapper}/children`, "utf8");
  const pid = children
    .trim()
    .split(" ")
    .map(Number)
    .find((child) => readFileSync(`/proc/${child}/cmdline`, "utf8").includes("watchdog"));
  expect(pid).toBeDefined();
  return pid as number;
}

/** Ends a process that a test shows to live on. */
export async function endProcess(pid: number): Promise<void> {
  if (isAlive(pid)) process.kill(pid, "SIGKILL");
  await until("the process has ended", () => !isAlive(pid));
}
