import { fork } from "node:child_process";
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { describe, expect, test } from "vitest";

import { World, isAlive, timeout } from "./world.ts";

describe.concurrent("the default store", { timeout }, () => {
  test("is a file in XDG_STATE_HOME, in a folder of the owner's alone", async () => {
    await using world = new World();
    const env = { LEASEHOLD_STORE: undefined, XDG_STATE_HOME: world.path("state") };
    const words = ["run", "job", "--", "sh", "-c", "echo $LEASEHOLD_STORE"];
    const ended = await world.run(words, { env });
    expect(ended.stdout).toBe(`sqlite:${world.path("state/leasehold/leasehold.db")}\n`);
    expect(statSync(world.path("state/leasehold")).mode & 0o777).toBe(0o700);
  });

  test("is below the home folder without XDG_STATE_HOME or with a relative one", async () => {
    await using world = new World();
    const env = { LEASEHOLD_STORE: "", XDG_STATE_HOME: "state", HOME: world.folder };
    const ended = await world.run(["status", "--json"], { env });
    const store = `sqlite:${world.path(".local/state/leasehold/leasehold.db")}`;
    expect(JSON.parse(ended.stdout)).toMatchObject({ store });
  });

  test("a relative path means the folder of the call, for the command too", async () => {
    await using world = new World();
    const words = ["run", "job", "--store", "sqlite:here.db", "--", "sh", "-c"];
    const ended = await world.run([...words, "echo $LEASEHOLD_STORE"]);
    expect(ended.stdout).toBe(`sqlite:${world.path("here.db")}\n`);
  });

  test("a store in memory is said to keep nobody out", async () => {
    await using world = new World();
    const ended = await world.run(["run", "job", "--store", "memory:", "--", "true"]);
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain("keeps nobody out");
  });
});

describe.concurrent("doctor", { timeout }, () => {
  test("finds a fresh store sound, in lines and in JSON", async () => {
    await using world = new World();
    const ended = await world.run(["doctor"]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    for (const subject of ["folder", "file system", "store", "clock", "commits", "journal"]) {
      expect(ended.stdout).toMatch(new RegExp(String.raw`^(good |note ) {2}${subject}: `, "m"));
    }
    const json = await world.run(["doctor", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ store: world.store, isSound: true });
  });

  test("names a folder that is not there, with the cure, and ends with 1", async () => {
    await using world = new World();
    const ended = await world.run(["doctor", "--store", `sqlite:${world.path("no/locks.db")}`]);
    expect(ended.code).toBe(1);
    expect(ended.stdout).toMatch(/^wrong {2}folder: ENOENT.*\n {7}Make the folder/m);
    expect(ended.stdout).toMatch(/^wrong {2}store: /m);
  });

  test("notes a folder that everybody may write", async () => {
    await using world = new World();
    mkdirSync(world.path("open"));
    chmodSync(world.path("open"), 0o777);
    const ended = await world.run(["doctor", "--store", `sqlite:${world.path("open/locks.db")}`]);
    expect(ended.code).toBe(0);
    expect(ended.stdout).toMatch(/^note {3}folder: .* can be written by everybody \(mode 0777\)$/m);
  });

  test("calls a store in memory wrong", async () => {
    await using world = new World();
    const ended = await world.run(["doctor", "--store", "memory:", "--quiet"]);
    expect(ended.code).toBe(1);
    expect(ended.stdout).toMatch(/^wrong {2}store: memory:/);
  });
});

test("a launcher that is killed ends the wrapper and the command", { timeout }, async () => {
  await using world = new World();
  const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
  const script = world.script("work", "echo $$ > pid; sleep 60");
  const words = ["run", "job", "--store", world.store, "--", script];
  const inner = fork(main, words, { cwd: world.folder, execArgv: [] });
  const pid = await world.readPid("pid");
  const ended = new Promise((resolve) => inner.once("exit", resolve));
  inner.disconnect();
  expect(await ended).toBe(143);
  expect(isAlive(pid)).toBe(false);
});
