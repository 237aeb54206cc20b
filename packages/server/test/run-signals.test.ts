import { describe, expect, test } from "vitest";

import { expectNoOverlap, startFirst, startSecond, writeScripts } from "./heartbeat.ts";
import { World, isAlive, timeout, timed, until } from "./world.ts";

interface SignalRow {
  readonly signal: NodeJS.Signals;
  readonly code: number;
}

const signalRows: readonly SignalRow[] = [
  { signal: "SIGTERM", code: 143 },
  { signal: "SIGINT", code: 130 },
  { signal: "SIGHUP", code: 129 },
  { signal: "SIGQUIT", code: 131 },
];

/** After the group has ended, and with the time that a busy machine takes to look. */
const freeMsMax = 1000;

describe("a signal to the wrapper", { timeout }, () => {
  test.concurrent.for(signalRows)(
    "$signal ends the group and frees the lock within 1 s (case 085 b, case 045) [LS157] [LS80]",
    async ({ signal, code }) => {
      await using world = new World();
      // A shell ignores INT and QUIT in what it starts with &, hence the reset of both.
      const { first, second } = writeScripts(world, "trap 'exit' TERM INT HUP QUIT");
      const space = await world.openSpace();
      const wrapper = await startFirst(world, first);
      const waiting = await startSecond(world, second);
      wrapper.kill(signal);
      const group = [await world.readPid("first.pid"), await world.readPid("grandchild.pid")];
      await until("the group has ended", () => !group.some(isAlive));
      const { ms } = await timed(
        until("the next one has it", async () => (await space.status("job")).counter === 2),
      );
      expect(ms).toBeLessThan(freeMsMax);
      const ended = await wrapper.ended;
      expect([0, code]).toContain(ended.code);
      expect((await waiting.ended).code).toBe(0);
      expectNoOverlap(world);
    },
  );

  test.concurrent.for(signalRows)(
    "$signal reaches the command as itself, and its own exit code counts",
    async ({ signal }) => {
      await using world = new World();
      const script = world.script(
        "work",
        `for s in TERM INT HUP QUIT; do trap "echo SIG$s >> got; exit 9" $s; done
echo $$ > pid; while :; do sleep 0.05; done`,
      );
      const wrapper = world.start(["run", "job", "--", script]);
      await world.readPid("pid");
      wrapper.kill(signal);
      expect((await wrapper.ended).code).toBe(9);
      expect(world.read("got")).toBe(`${signal}\n`);
    },
  );
});

describe.concurrent("how a signal is carried out", { timeout }, () => {
  test("equal signals within 200 ms count once, later they count again", async () => {
    await using world = new World();
    const script = world.script(
      "work",
      `trap : INT; echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done`,
    );
    const wrapper = world.start(["run", "job", "--json", "--", script]);
    await world.readPid("pid");
    const handedOn = (): Record<string, string>[] =>
      wrapper
        .stderr()
        .split("\n")
        .filter((line) => line.includes('"event":"signal"'))
        .map((line) => JSON.parse(line) as Record<string, string>);
    const times = (): number[] => handedOn().map(({ at }) => Date.parse(at ?? ""));
    let sent = 0;
    await until("it was handed on twice", async () => {
      // Bursts of signals 10 ms apart, with a pause after every ten of them.
      if (sent % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 300));
      sent += 1;
      wrapper.kill("SIGINT");
      return times().length > 1;
    });
    world.script("go", "");
    await wrapper.ended;
    const [first = 0, second = 0] = times();
    expect(second - first).toBeGreaterThanOrEqual(190);
    expect(handedOn().every(({ signal }) => signal === "SIGINT")).toBe(true);
  });

  test("a command that ignores TERM is killed after the grace, group and all", async () => {
    await using world = new World();
    const { first } = writeScripts(world, "trap '' TERM");
    const wrapper = await startFirst(world, first);
    const grandchild = await world.readPid("grandchild.pid");
    wrapper.kill("SIGTERM");
    const { ms, value } = await timed(wrapper.ended);
    expect(value.code).toBe(137);
    expect(value.stderr).toContain("did not end within its grace");
    expect(ms).toBeGreaterThan(400);
    expect(isAlive(grandchild)).toBe(false);
  });

  test("a command that is stopped ends all the same", async () => {
    await using world = new World();
    const script = world.script("work", "echo $$ > pid; kill -STOP $$; sleep 60");
    const wrapper = world.start(["run", "job", "--", script]);
    await world.readPid("pid");
    wrapper.kill("SIGTERM");
    expect((await wrapper.ended).code).toBe(143);
  });

  test("what is left in the background is ended before the release, and said [LS157]", async () => {
    await using world = new World();
    const { second } = writeScripts(world);
    const script = world.script(
      "work",
      `echo $$ > first.pid
sh -c 'trap "" TERM; while :; do date +%s%N >> beats; sleep 0.1; done' & echo $! > grandchild.pid
while [ ! -e go ]; do sleep 0.05; done; exit 4`,
    );
    const wrapper = world.start(["run", "job", "--grace", "300ms", "--", script]);
    await until("the first command is at work", () => world.read("beats") !== "");
    const waiting = await startSecond(world, second);
    world.script("go", "");
    const ended = await wrapper.ended;
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain("left processes behind");
    expect((await waiting.ended).code).toBe(0);
    expectNoOverlap(world);
  });

  test("a signal while waiting leaves the queue, exit code 128 + n (case 094) [LS80]", async () => {
    await using world = new World();
    const space = await world.openSpace();
    const lease = await space.acquire("job", { owner: "somebody" });
    const waiting = world.start(["run", "job", "--", "true"]);
    await until("it waits", () => waiting.stderr().includes("held by somebody"));
    waiting.kill("SIGINT");
    expect((await waiting.ended).code).toBe(130);
    await until("the queue is empty", async () => (await space.status("job")).depth === 0);
    await lease.release();
  });

  test("after failed work and 5 killed waiters the next starts (case 094) [LS158]", async () => {
    await using world = new World();
    const space = await world.openSpace();
    expect((await world.run(["run", "job", "--", "false"])).code).toBe(1);
    const lease = await space.acquire("job", { owner: "somebody" });
    const dead = await Promise.all(
      [1, 2, 3, 4, 5].map(async () => {
        const waiting = world.start(["run", "job", "--", "true"]);
        await until("it waits", () => waiting.stderr().includes("held by somebody"));
        waiting.kill("SIGINT");
        return waiting.ended;
      }),
    );
    expect(dead.map(({ code }) => code)).toEqual([130, 130, 130, 130, 130]);
    await lease.release();
    // Nothing on standard error: it was granted without waiting.
    expect(await world.run(["run", "job", "--", "true"])).toMatchObject({ code: 0, stderr: "" });
  });
});
