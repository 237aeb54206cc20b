import { describe, expect, test } from "vitest";

import { World, launcher, timeout, until } from "./world.ts";

describe.concurrent("looking at locks", { timeout }, () => {
  test("status shows holder, token, times, note and queue (case 088) [LS151]", async () => {
    await using world = new World();
    const space = await world.openSpace({ owner: "first", app: "tests" });
    const lease = await space.acquire("job", { note: "two\nlines \u001b[2J" });
    const waiting = space.acquire("job", { owner: "second", mode: "shared", wait: "20s" });
    await until("it waits", async () => (await space.status("job")).depth === 1);
    const { code, stdout } = await world.run(["status", "job"]);
    expect(code).toBe(0);
    const time = String.raw`\d\d:\d\d:\d\d, (now|\d+s ago|in \d+s)`;
    const lines = stdout.split("\n");
    expect(lines[0]).toBe("job  held exclusive");
    expect(lines[1]).toBe("  token    1");
    expect(lines[2]).toMatch(
      new RegExp(
        String.raw`^  holder   held by first \(host \S+, pid ${process.pid}, tests\) with token ` +
          String.raw`1 since ${time}, until ${time}$`,
      ),
    );
    expect(lines[3]).toBe(String.raw`  note     two\nlines \u{1b}[2J`);
    expect(lines[4]).toBe("  waiting  1");
    expect(lines[5]).toMatch(new RegExp(`^ {4}1 {6}second shared since ${time}$`));
    await lease.release();
    await (await waiting).release();
  });

  test("status --json is what the library gives, without lease ids [LS151]", async () => {
    await using world = new World();
    const space = await world.openSpace({ owner: "first" });
    const lease = await space.acquire("job");
    const { stdout } = await world.run(["status", "job", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      name: "job",
      state: "held",
      mode: "exclusive",
      token: 1,
      depth: 0,
      holders: [{ owner: "first", token: 1, state: "held" }],
      authoritative: false,
    });
    expect(stdout).not.toContain(lease.leaseId);
    await lease.release();
    const free = await world.run(["status", "job", "--json"]);
    expect(JSON.parse(free.stdout)).toMatchObject({ state: "free", token: 0, counter: 1 });
  });

  test("status without a name sums the store up, also in JSON", async () => {
    await using world = new World();
    const space = await world.openSpace();
    const leases = [await space.acquire("a"), await space.acquire("b", { mode: "shared" })];
    const { stdout } = await world.run(["status"]);
    expect(stdout).toBe(
      `  store      ${world.store}\n  namespace  default\n  engine     sqlite\n` +
        `  locks      2 (1 held, 1 shared)\n  waiting    0\n`,
    );
    const json = await world.run(["status", "--json"]);
    expect(JSON.parse(json.stdout)).toEqual({
      store: world.store,
      namespace: "default",
      engine: "sqlite",
      locks: { held: 1, shared: 1 },
      total: 2,
      waiting: 0,
      isCut: false,
    });
    for (const lease of leases) await lease.release();
  });

  test("ls lines up a table, and takes prefix, state and limit", async () => {
    await using world = new World();
    const space = await world.openSpace({ owner: "me" });
    const leases = [await space.acquire("b/鍵"), await space.acquire("b/long name")];
    await (await space.acquire("a")).release();
    const { stdout } = await world.run(["ls"]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toBe("NAME         STATE  TOKEN  SINCE     UNTIL   WAITING  OWNER");
    expect(lines[1]).toBe("a            free");
    expect(lines[2]).toMatch(/^b\/long name {2}held {7}1 {2}\d\d:\d\d:\d\d {2}in \d\ds {11}me$/);
    expect(lines[3]).toMatch(/^b\/鍵 {9}held {7}1 {2}\d\d:\d\d:\d\d {2}in \d\ds {11}me$/);
    const namesOf = async (...words: string[]): Promise<string[]> => {
      const listed = await world.run(["ls", "--json", ...words]);
      const { locks } = JSON.parse(listed.stdout) as { locks: { name: string }[] };
      return locks.map(({ name }) => name);
    };
    expect(await namesOf("--prefix", "b/")).toEqual(["b/long name", "b/鍵"]);
    expect(await namesOf("--state", "free")).toEqual(["a"]);
    expect(await namesOf("--limit", "1")).toEqual(["a"]);
    expect((await world.run(["ls", "--limit", "1"])).stderr).toContain("more than 1");
    for (const lease of leases) await lease.release();
  });

  test("why says what keeps a request out, or that nothing does [LS151]", async () => {
    await using world = new World();
    const space = await world.openSpace({ owner: "me" });
    const lease = await space.acquire("job");
    const held = await world.run(["why", "job"]);
    const [verdict, holder, end] = held.stdout.split("\n");
    expect(verdict).toBe("job  a new exclusive request would have to wait");
    expect(holder).toMatch(/^ {2}held: held by me \(/);
    expect(end).toMatch(/ is out at /);
    const json = await world.run(["why", "job", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ name: "job", status: { state: "held" } });
    await lease.release();
    const free = await world.run(["why", "job"]);
    expect(free.stdout).toBe("job  a new exclusive request would be granted at once\n");
  });

  test("watch prints states until interrupted, also as JSON", async () => {
    await using world = new World();
    const space = await world.openSpace({ owner: "me" });
    const lines = world.start(["watch", "job"]);
    const json = world.start(["watch", "--prefix", "j", "--json"]);
    await until("one watches", () => lines.stdout().includes("job  free"));
    const lease = await space.acquire("job");
    await until("one has seen it", () => /job {2}held {2}token 1 {2}me/.test(lines.stdout()));
    await until("the other too", () => json.stdout().includes('"type":"held"'));
    await lease.release();
    await until("the end was seen", () => json.stdout().trim().endsWith("}"));
    for (const watcher of [lines, json]) watcher.kill("SIGINT");
    expect((await lines.ended).code).toBe(130);
    const { stdout } = await json.ended;
    const events = stdout.trim().split("\n");
    expect(events.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({ name: "job", type: "held", token: 1 }),
    );
  });

  test("a reader that goes away ends the output quietly", async () => {
    await using world = new World();
    const space = await world.openSpace();
    const lease = await space.acquire("job");
    const command = `node "$0" watch --json | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const watcher = world.startProgram("bash", ["-c", command, launcher], {
      env: { PATH: `${process.execPath.replace(/\/node$/, "")}:${process.env["PATH"]}` },
    });
    await until("one line is printed", () => watcher.stdout().includes('"held"'));
    await lease.release();
    const ended = await watcher.ended;
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout.trim().split("\n").at(-1)).toBe("0");
  });
});

/** The first line that status prints on a terminal. */
async function onTerminal(env: Record<string, string>): Promise<string> {
  await using world = new World();
  const line = `${process.execPath} ${launcher} status job`;
  const words = ["-qec", line, world.path("log")];
  const { stdout } = await world.startProgram("script", words, {
    env: { TERM: "xterm", ...env },
  }).ended;
  return stdout.split("\r\n")[0] ?? "";
}

describe.concurrent("colours", { timeout }, () => {
  test("are shown on a terminal", async () => {
    expect(await onTerminal({})).toBe("\u001b[1mjob\u001b[22m  \u001b[32mfree\u001b[39m");
  });

  test("are not shown with NO_COLOR", async () => {
    expect(await onTerminal({ NO_COLOR: "1" })).toBe("job  free");
  });
});

describe.concurrent("taking a lock away (case 088) [LS153]", { timeout }, () => {
  test("the shown token ends the grant, the holder learns by whom and why [LS153]", async () => {
    await using world = new World();
    const space = await world.openSpace({ owner: "me" });
    const lease = await space.acquire("job", { lease: "6s" });
    const words = ["release", "--force", "job", "--reason", "host is gone", "--token", "1"];
    const ended = await world.run(words);
    expect(ended).toMatchObject({ code: 0, stdout: "job: ended the grant of me with token 1\n" });
    await until("the holder knows", () => lease.state === "lost");
    expect(String(lease.signal.reason)).toMatch(/forced by leasehold of .*: host is gone/);
    const history = await world.run(["history", "job", "--kind", "forced", "--since", "1h"]);
    expect(history.stdout).toMatch(/^TIME +NAME +WHAT +TOKEN +HELD +OWNER +BY, WHY\n/);
    expect(history.stdout).toMatch(/job +forced +1 .*me +leasehold of .*: host is gone\n$/);
    const json = await world.run(["history", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: "forced", reason: "host is gone" });
  });

  test("a wrong or an old token changes nothing and ends with 1 [LS153]", async () => {
    await using world = new World();
    const space = await world.openSpace({ owner: "me" });
    await (await space.acquire("job")).release();
    const lease = await space.acquire("job");
    for (const token of ["1", "7"]) {
      const words = ["release", "--force", "job", "--reason", "r", "--token", token];
      const ended = await world.run(words);
      expect(ended.code).toBe(1);
      expect(ended.stderr).toBe(
        `leasehold: job is not held with token ${token} but with 2; nothing was changed\n`,
      );
    }
    expect((await space.status("job")).token).toBe(2);
    await lease.release();
  });

  test("a free lock is said to be free and ends with 1, also in JSON [LS153]", async () => {
    await using world = new World();
    const words = ["release", "--force", "job", "--reason", "r"];
    const ended = await world.run(words);
    expect(ended).toMatchObject({
      code: 1,
      stderr: "leasehold: job is free: nobody holds it, nothing was changed\n",
    });
    const json = await world.run([...words, "--json"]);
    expect(JSON.parse(json.stderr)).toMatchObject({ event: "error", code: "NOTHING_ENDED" });
  });
});

test("nothing is recorded in a fresh store, and history says so", { timeout }, async () => {
  await using world = new World();
  const ended = await world.run(["history"]);
  expect(ended).toMatchObject({ code: 0, stdout: "", stderr: "leasehold: nothing is recorded\n" });
});
