import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { runProgram } from "../scripts/check/program.ts";
import { CHECKS } from "../scripts/check/all.ts";

const CHECK_MS_MAX = 300_000;

test("the tests run on Node 24 or newer", () => {
  const [major = "0"] = process.versions.node.split(".");
  expect(Number(major)).toBeGreaterThanOrEqual(24);
});

test("the launcher of the command parses", () => {
  const launcher = "packages/server/bin/leasehold.js";
  const { status, stderr } = spawnSync(process.execPath, ["--check", launcher]);
  expect({ status, stderr: stderr.toString() }).toEqual({ status: 0, stderr: "" });
});

test.for(CHECKS.map((check) => check.name))(
  "npm run check -- %s passes",
  { timeout: CHECK_MS_MAX },
  async (name) => {
    // A process of its own: a check is judged as it runs from the command line.
    const { code, stdout, stderr } = await runProgram(process.execPath, ["scripts/check.ts", name]);
    expect(code, `${stdout}${stderr}`).toBe(0);
  },
);
