import { DatabaseSync } from "node:sqlite";

import { describe, expect, test } from "vitest";

import {
  endProcess,
  expectNoOverlap,
  leaseMs,
  startFirst,
  startMsMax,
  startSecond,
  watchdogOf,
  writeScripts,
} from "./heartbeat.ts";
import { World, isAlive, timeout, timed, until } from "./world.ts";

describe.concurrent("the command ends before another begins [LS157]", { timeout }, () => {
  test("wrapper killed: next run within lease + 1 s (case 046, case 090) [LS157]", async () => {
    await using world = new World();
    const { first, second } = writeScripts(world);
    const wrapper = await startFirst(world, first);
    const waiting = await startSecond(world, second);
    wrapper.kill("SIGKILL");
    const { ms, value } = await timed(waiting.ended);
    expect(value.code).toBe(0);
    expect(ms).toBeLessThan(leaseMs + startMsMax);
    expectNoOverlap(world);
  });

  test("wrapper killed: the group ends within its grace [LS157]", async () => {
    await using world = new World();
    const { first } = writeScripts(world);
    const wrapper = await startFirst(world, first, ["--lease", "60s"]);
    const group = [await world.readPid("first.pid"), await world.readPid("grandchild.pid")];
    wrapper.kill("SIGKILL");
    // Patience ends long before the lease.
    await until("the group has ended", () => !group.some(isAlive));
  });

  test("wrapper killed and TERM ignored: KILL ends the group [LS157]", async () => {
    await using world = new World();
    const { first, second } = writeScripts(world, "trap '' TERM");
    const wrapper = await startFirst(world, first);
    const waiting = await startSecond(world, second);
    wrapper.kill("SIGKILL");
    expect(await waiting.ended).toMatchObject({ code: 0 });
    expectNoOverlap(world);
  });

  test("wrapper stopped: the group ends, 70 on waking (case 085) [LS157]", async () => {
    await using world = new World();
    const { first, second } = writeScripts(world);
    const wrapper = await startFirst(world, first);
    const waiting = await startSecond(world, second);
    wrapper.kill("SIGSTOP");
    expect(await waiting.ended).toMatchObject({ code: 0 });
    expectNoOverlap(world);
    wrapper.kill("SIGCONT");
    const ended = await wrapper.ended;
    expect(ended.code).toBe(70);
    expect(ended.stderr).toContain("lease");
  });

  test("wrapper stopped for ever: it is woken to report the loss, 70 [LS157]", async () => {
    await using world = new World();
    const { first } = writeScripts(world);
    const wrapper = await startFirst(world, first);
    wrapper.kill("SIGSTOP");
    const ended = await wrapper.ended;
    expect(ended.code).toBe(70);
    expect(ended.stderr).toContain("ending the command");
    const group = [await world.readPid("first.pid"), await world.readPid("grandchild.pid")];
    expect(group.filter(isAlive)).toEqual([]);
  });

  test("wrapper stopped, then killed: KILL is not put off [LS157]", async () => {
    await using world = new World();
    // TERM comes 2 s before KILL; the wrapper is killed shortly before the end of that time.
    const { first, second } = writeScripts(
      world,
      `(trap 'trap "" TERM; sleep 1.7; echo > termed' TERM; while :; do sleep 0.1; done) &
trap '' TERM`,
    );
    const wrapper = await startFirst(world, first, ["--lease", "6s", "--grace", "2s"]);
    const waiting = await startSecond(world, second);
    wrapper.kill("SIGSTOP");
    await until("the watchdog has sent TERM", () => world.read("termed") !== "");
    wrapper.kill("SIGKILL");
    expect(await waiting.ended).toMatchObject({ code: 0 });
    expectNoOverlap(world);
  });

  test("store blocked: the group ends before the lease, 70 (case 085) [LS157]", async () => {
    await using world = new World();
    const { first, second } = writeScripts(world);
    const wrapper = await startFirst(world, first);
    const waiting = await startSecond(world, second);
    const blocker = new DatabaseSync(world.storePath, { timeout: 5000 });
    blocker.exec("BEGIN IMMEDIATE");
    const { ms, value } = await timed(wrapper.ended);
    const group = [await world.readPid("first.pid"), await world.readPid("grandchild.pid")];
    expect(group.filter(isAlive)).toEqual([]);
    blocker.exec("ROLLBACK");
    blocker.close();
    expect(value.code).toBe(70);
    expect(value.stderr).toMatch(/could not be renewed in time.*; ending the command/);
    expect(ms).toBeLessThan(leaseMs + 6000);
    expect(await waiting.ended).toMatchObject({ code: 0 });
    expectNoOverlap(world);
  });

  test("forced, with a lock-delay: the group ends in it, 70 [LS157]", async () => {
    await using world = new World();
    const { first, second } = writeScripts(world);
    const wrapper = await startFirst(world, first, ["--lock-delay", "4s"]);
    const waiting = await startSecond(world, second);
    const forced = await world.run(["release", "--force", "job", "--reason", "wrong disk"]);
    expect(forced.code).toBe(0);
    const ended = await wrapper.ended;
    expect(ended.code).toBe(70);
    expect(ended.stderr).toMatch(/forced by .*: wrong disk/);
    expect(await waiting.ended).toMatchObject({ code: 0 });
    expectNoOverlap(world);
  });

  test("killed at any moment of its start, nothing of the command lives on [LS157]", async () => {
    await using world = new World();
    const script = world.script("work", `echo $$ > pid.$1; exec sleep 60`);
    const moments = Array.from({ length: 8 }, (_, at) => at);
    const wrappers = moments.map((at) => {
      const words = ["run", `job ${at}`, "--grace", "50ms", "--", script, String(at)];
      return world.start(words);
    });
    await until("the first command has started", () =>
      moments.some((at) => world.read(`pid.${at}`) !== ""),
    );
    // All were started together, so the others are somewhere between their start and their command.
    for (const wrapper of wrappers) wrapper.kill("SIGKILL");
    await Promise.all(wrappers.map(({ ended }) => ended));
    const live = (): number[] =>
      moments.map((at) => Number(world.read(`pid.${at}`))).filter((pid) => pid > 0 && isAlive(pid));
    await until("no command is left", () => live().length === 0);
  });
});

describe.concurrent("what is beyond the reach of run [LS157]", { timeout }, () => {
  test("a descendant that left the group lives on, as the help says [LS157]", async () => {
    await using world = new World();
    const script = world.script("work", "setsid sh -c 'echo $$ > away.pid; exec sleep 60' &\nwait");
    const wrapper = world.start(["run", "job", "--grace", "100ms", "--", script]);
    const away = await world.readPid("away.pid");
    wrapper.kill("SIGTERM");
    expect((await wrapper.ended).code).toBe(143);
    expect(isAlive(away)).toBe(true);
    await endProcess(away);
    const { stdout } = await world.run(["run", "--help"]);
    expect(stdout).toContain("leave the group (setsid, daemons)");
  });

  test("wrapper and watchdog killed at once: the direct child ends [LS157]", async () => {
    await using world = new World();
    const { first } = writeScripts(world);
    const wrapper = await startFirst(world, first);
    const child = await world.readPid("first.pid");
    const grandchild = await world.readPid("grandchild.pid");
    process.kill(-watchdogOf(wrapper.pid), "SIGKILL");
    wrapper.kill("SIGKILL");
    await until("the direct child has ended", () => !isAlive(child));
    expect(isAlive(grandchild)).toBe(true);
    await endProcess(grandchild);
  });

  test("wrapper and head of the watchdog killed: its timer ends the group [LS157]", async () => {
    await using world = new World();
    const { first, second } = writeScripts(world);
    const wrapper = await startFirst(world, first);
    const waiting = await startSecond(world, second);
    process.kill(watchdogOf(wrapper.pid), "SIGKILL");
    wrapper.kill("SIGKILL");
    expect((await waiting.ended).code).toBe(0);
    expectNoOverlap(world);
  });

  test("watchdog killed alone: the run goes on and says that it is not guarded", async () => {
    await using world = new World();
    const script = world.script(
      "work",
      "echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done; sleep 1; exit 3",
    );
    const wrapper = world.start(["run", "job", "--lease", "1s", "--", script]);
    await world.readPid("pid");
    process.kill(watchdogOf(wrapper.pid), "SIGKILL");
    await until("it is said", () => wrapper.stderr().includes("the watchdog was killed"));
    world.script("go", "");
    expect((await wrapper.ended).code).toBe(3);
  });

  test("in the foreground only the command itself is signalled", async () => {
    await using world = new World();
    const { first } = writeScripts(world);
    const wrapper = await startFirst(world, first, ["--foreground"]);
    const child = await world.readPid("first.pid");
    const grandchild = await world.readPid("grandchild.pid");
    wrapper.kill("SIGTERM");
    expect((await wrapper.ended).code).toBe(143);
    expect(isAlive(child)).toBe(false);
    expect(isAlive(grandchild)).toBe(true);
    await endProcess(grandchild);
  });
});
