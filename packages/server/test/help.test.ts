import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

import { World, timeout } from "./world.ts";

const pages = [
  "main",
  "run",
  "status",
  "ls",
  "why",
  "watch",
  "history",
  "release",
  "doctor",
  "completion",
] as const;

describe("help", { timeout }, () => {
  test.concurrent.for(pages)("of %s is as recorded, with examples", async (page, context) => {
    await using world = new World();
    const words = page === "main" ? ["--help"] : ["help", page];
    const { code, stdout } = await world.run(words);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Examples:$/m);
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    // What the command is known to print: a change of it is to be seen in review.
    await context.expect(stdout).toMatchFileSnapshot(`golden/help-${page}.txt`);
  });

  test("without a command goes to standard error and ends with 64", async () => {
    await using world = new World();
    const ended = await world.run([]);
    expect(ended).toMatchObject({ code: 64, stdout: "" });
    expect(ended.stderr).toMatch(/^Usage: leasehold /);
  });

  test("the version is that of the package", async () => {
    await using world = new World();
    const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
    const { version } = JSON.parse(manifest) as { version: string };
    expect((await world.run(["--version"])).stdout).toBe(`${version}\n`);
  });
});

/** What bash would offer for the last of the words. */
async function offered(...words: string[]): Promise<string[]> {
  await using world = new World();
  const { stdout } = await world.run(["completion", "bash"]);
  const line = `${stdout}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _leasehold; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const program = world.startProgram("bash", ["-c", line, "bash", "leasehold", ...words]);
  const ended = await program.ended;
  expect(ended.stderr).toBe("");
  return ended.stdout.split("\n").filter((word) => word !== "");
}

describe.concurrent("completion", { timeout }, () => {
  test("bash offers commands, options, and the values of options", async () => {
    expect(await offered("st")).toEqual(["status"]);
    expect(await offered("run", "--no")).toEqual(["--no-wait", "--note"]);
    expect(await offered("ls", "--state", "he")).toEqual(["held"]);
    expect(await offered("completion", "z")).toEqual(["zsh"]);
    expect(await offered("run", "job", "--", "unam")).toContain("uname");
  });

  test("zsh and fish get a script that names every command", async () => {
    await using world = new World();
    for (const shell of ["zsh", "fish"]) {
      const { code, stdout } = await world.run(["completion", shell]);
      expect(code).toBe(0);
      for (const name of pages.slice(1)) expect(stdout).toContain(name);
      expect(stdout).toContain("conflict-exit-code");
    }
  });
});
