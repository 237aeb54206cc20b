import { writeFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

import { World, launcher, timed, timeout, until } from "./world.ts";

interface CodeRow {
  readonly title: string;
  readonly words: readonly string[];
  readonly code: number;
}

const codeRows: readonly CodeRow[] = [
  { title: "a command that succeeds", words: ["n", "--", "true"], code: 0 },
  { title: "a command that fails", words: ["n", "--", "sh", "-c", "exit 7"], code: 7 },
  { title: "a command that ends with 255", words: ["n", "--", "sh", "-c", "exit 255"], code: 255 },
  { title: "a command killed by TERM", words: ["n", "--", "sh", "-c", "kill -TERM $$"], code: 143 },
  { title: "a command killed by KILL", words: ["n", "--", "sh", "-c", "kill -KILL $$"], code: 137 },
  { title: "a command that is not there", words: ["n", "--", "no-such-command"], code: 127 },
  { title: "a path that is not there", words: ["n", "--", "./no-such-command"], code: 127 },
  { title: "a folder", words: ["n", "--", "/etc"], code: 126 },
  { title: "a file without permission", words: ["n", "--", "/etc/passwd"], code: 126 },
  { title: "a broken interpreter", words: ["n", "--", "./broken"], code: 127 },
  { title: "options of the command", words: ["n", "--", "test", "--json", "=", "--json"], code: 0 },
  { title: "a second -- in the command", words: ["n", "--", "test", "--", "=", "--"], code: 0 },
  { title: "options behind the name", words: ["n", "--wait", "1s", "--", "true"], code: 0 },
  { title: "options before the name", words: ["--wait", "1s", "n", "--", "true"], code: 0 },
  { title: "a name that begins with a dash", words: ["--", "-n", "--", "true"], code: 0 },
];

describe("exit codes of run", { timeout }, () => {
  test.concurrent.for(codeRows)("$title ends with $code", async ({ words, code }) => {
    await using world = new World();
    writeFileSync(world.path("broken"), "#!/no/such/interpreter\n", { mode: 0o755 });
    const ended = await world.run(["run", ...words]);
    expect(ended).toMatchObject({ code, signal: null });
    const space = await world.openSpace();
    expect(await space.status(words[0] ?? "")).toMatchObject({ state: "free", depth: 0 });
  });

  test("a store that cannot be reached ends with 69 and names it", async () => {
    await using world = new World();
    const store = `sqlite:${world.path("no/such/folder/locks.db")}`;
    const ended = await world.run(["run", "n", "--store", store, "--", "true"]);
    expect(ended.code).toBe(69);
    expect(ended.stderr).toContain("unavailable");
  });
});

describe.concurrent("a lock that is held", { timeout }, () => {
  test("--no-wait ends with 75 and says who, and until when (case 094)", async () => {
    await using world = new World();
    const space = await world.openSpace();
    const lease = await space.acquire("job", { owner: "somebody" });
    const ended = await world.run(["run", "job", "--no-wait", "--", "touch", "ran"]);
    expect(ended.code).toBe(75);
    expect(ended.stderr).toMatch(
      new RegExp(
        String.raw`^leasehold: did not get job: held by somebody \(host .*, pid ${process.pid}\) ` +
          String.raw`with token 1 since \d\d:\d\d:\d\d, .*, until \d\d:\d\d:\d\d, in \d+s\n$`,
      ),
    );
    expect(world.read("ran")).toBe("");
    expect((await space.status("job")).depth).toBe(0);
    await lease.release();
  });

  test("--wait ends with 75 when it is over, --conflict-exit-code with another code", async () => {
    await using world = new World();
    const space = await world.openSpace();
    const lease = await space.acquire("job", { owner: "somebody" });
    const words = ["run", "job", "--wait", "300ms", "--conflict-exit-code", "3"];
    const { ms, value } = await timed(world.run([...words, "--", "true"]));
    expect(value.code).toBe(3);
    expect(value.stderr).toMatch(/^leasehold: waiting for job: held by somebody/);
    expect(value.stderr).toMatch(/did not get job within \d+ms: held by somebody .*; place 1 of 1/);
    expect(ms).toBeGreaterThan(300);
    await lease.release();
  });

  test("a waiting run says for whom, gets the lock when it is free, and says so", async () => {
    await using world = new World();
    const space = await world.openSpace();
    const lease = await space.acquire("job", { owner: "somebody", note: "line\u001b[31m" });
    const waiting = world.start(["run", "job", "--", "true"]);
    await until("it waits", () => waiting.stderr().includes("held by somebody"));
    await lease.release();
    const ended = await waiting.ended;
    expect(ended).toMatchObject({ code: 0, stdout: "" });
    expect(ended.stderr).toMatch(/leasehold: got job after .* \(token 2\)\n$/);
    expect(ended.stderr.split("\n")).toHaveLength(3);
  });

  test("--quiet says nothing while waiting, nor when refused", async () => {
    await using world = new World();
    const space = await world.openSpace();
    const lease = await space.acquire("job");
    const ended = await world.run(["run", "job", "--quiet", "--wait", "200ms", "--", "true"]);
    expect(ended).toEqual({ code: 75, signal: null, stdout: "", stderr: "" });
    await lease.release();
  });

  test("--shared runs beside another shared one, exclusive does not", async () => {
    await using world = new World();
    const space = await world.openSpace();
    const lease = await space.acquire("job", { mode: "shared" });
    expect((await world.run(["run", "job", "--shared", "--no-wait", "--", "true"])).code).toBe(0);
    expect((await world.run(["run", "job", "--no-wait", "--", "true"])).code).toBe(75);
    await lease.release();
  });

  test("on a terminal the wait is one line, and a last one says that it is over", async () => {
    await using world = new World();
    const space = await world.openSpace();
    const lease = await space.acquire("job", { owner: "somebody" });
    const line = `stty columns 300; ${process.execPath} ${launcher} run job -- true`;
    const waiting = world.startProgram("script", ["-qec", line, world.path("log")]);
    const shows = (text: string) => (): boolean => waiting.stdout().includes(text);
    await until("it waits", shows("held by somebody"));
    await until(
      "the line was renewed",
      shows("\r\u001b[2Kleasehold: 2s for job: held by somebody"),
    );
    await lease.release();
    const ended = await waiting.ended;
    expect(ended.code).toBe(0);
    expect(ended.stdout).toContain("\r\u001b[2Kleasehold: got job after ");
    expect(ended.stdout.split("\n")).toHaveLength(2);
  });
});

describe.concurrent("what the command gets", { timeout }, () => {
  test("name, token, lease id, store and namespace in its environment", async () => {
    await using world = new World();
    const names = ["NAME", "TOKEN", "LEASE_ID", "STORE", "NAMESPACE"];
    const line = names.map((name) => `echo "$LEASEHOLD_${name}"`).join(";");
    const words = ["run", "a b", "--namespace", "ns", "--", "sh", "-c", line];
    const [first, second] = [await world.run(words), await world.run(words)];
    const [name, token, leaseId, store, namespace] = first.stdout.split("\n");
    expect([name, token, store, namespace]).toEqual(["a b", "1", world.store, "ns"]);
    expect(leaseId).toMatch(/^[\w-]{22}$/);
    expect(second.stdout.split("\n")[1]).toBe("2");
  });

  test("input, output and errors are its own, and nothing is added to them", async () => {
    await using world = new World();
    const words = ["run", "job", "--", "sh", "-c", "cat; echo err >&2"];
    const ended = await world.run(words, { input: "in\n" });
    expect(ended).toEqual({ code: 0, signal: null, stdout: "in\n", stderr: "err\n" });
  });

  test("the environment is passed on whole, less the channel of a launcher", async () => {
    await using world = new World();
    const env = { "INPUT_dry-run": "yes", NODE_CHANNEL_SERIALIZATION_MODE: "json" };
    const ended = await world.run(["run", "job", "--", "env"], { env });
    expect(ended.stdout).toContain("INPUT_dry-run=yes\n");
    expect(ended.stdout).not.toContain("NODE_CHANNEL");
  });

  test("it leads a session of its own, but not in the foreground", async () => {
    await using world = new World();
    const line = "cut -d' ' -f1,5,6 /proc/$$/stat";
    const own = await world.run(["run", "job", "--", "sh", "-c", line]);
    const [pid, group, session] = own.stdout.trim().split(" ");
    expect([group, session]).toEqual([pid, pid]);
    const shared = await world.run(["run", "job", "--foreground", "--", "sh", "-c", line]);
    expect(shared.stdout.trim().split(" ")[1]).not.toBe(shared.stdout.split(" ")[0]);
  });

  test("the wrapper ends at once after it [LS81]", async () => {
    await using world = new World();
    const words = ["run", "job", "--", "sh", "-c", "date +%s%3N"];
    const ended = await world.run(words);
    expect(Date.now() - Number(ended.stdout)).toBeLessThan(1000);
  });

  test("it runs without setpriv too", async () => {
    await using world = new World();
    const words = ["run", "job", "--", "sh", "-c", "exit 5"];
    // Programs that are asked for by path only: no folder of this PATH holds setpriv.
    for (const name of ["sh", "sleep", "true"]) {
      world.script(name, `exec /bin/${name} "$@"`);
    }
    const ended = await world.run(words, { env: { PATH: world.folder } });
    expect(ended).toMatchObject({ code: 5, stderr: "" });
  });
});

describe.concurrent("run --json", { timeout }, () => {
  test("tells events as lines on standard error and leaves standard output alone", async () => {
    await using world = new World();
    const space = await world.openSpace();
    const lease = await space.acquire("job", { owner: "somebody" });
    const waiting = world.start(["run", "job", "--json", "--", "sh", "-c", "echo out; exit 6"]);
    await until("it waits", () => waiting.stderr().includes('"event":"waiting"'));
    await lease.release();
    const ended = await waiting.ended;
    expect(ended).toMatchObject({ code: 6, stdout: "out\n" });
    const lines = ended.stderr.trim().split("\n");
    const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events.map(({ event }) => event)).toEqual(["waiting", "granted", "started", "exited"]);
    expect(events[0]).toMatchObject({ denial: { holders: [{ owner: "somebody" }], position: 0 } });
    expect(events[1]).toMatchObject({ token: 2, mode: "exclusive" });
    expect(events[3]).toMatchObject({ code: 6, signal: null });
    expect(ended.stderr).not.toContain(lease.leaseId);
  });

  test("tells wrong usage as a line too", async () => {
    await using world = new World();
    const ended = await world.run(["run", "job", "--json", "--wait", "soon", "--", "true"]);
    expect(ended.code).toBe(64);
    expect(JSON.parse(ended.stderr)).toMatchObject({ event: "error", code: "USAGE" });
  });
});
