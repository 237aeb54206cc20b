import { existsSync } from "node:fs";

import { describe, expect, test } from "vitest";

import { World, timeout } from "./world.ts";

interface RefusedRow {
  readonly title: string;
  readonly words: readonly string[];
  /** What the message must name: the parameter and the value. */
  readonly names: readonly [string, string];
}

/** A value for a flag of run that is refused. */
function refusedFlag(flag: string, value: string, shown = value): RefusedRow {
  const words = ["run", "job", flag, value, "--", "true"];
  return { title: `${flag} ${value.slice(0, 20)}`, words, names: [flag, shown] };
}

const long = "x".repeat(1025);

const refusedRows: readonly RefusedRow[] = [
  refusedFlag("--wait", "soon"),
  refusedFlag("--wait", "-1s"),
  refusedFlag("--wait", "30"),
  refusedFlag("--wait", ""),
  refusedFlag("--wait", "1e3s"),
  refusedFlag("--lease", "5 s"),
  refusedFlag("--lease", "99ms"),
  refusedFlag("--lease", "NaN"),
  refusedFlag("--grace", "-5s"),
  refusedFlag("--grace", "2h"),
  refusedFlag("--grace", "1w"),
  refusedFlag("--conflict-exit-code", "256"),
  refusedFlag("--conflict-exit-code", "-1"),
  refusedFlag("--conflict-exit-code", "1.5"),
  refusedFlag("--conflict-exit-code", "seventy"),
  refusedFlag("--lock-delay", "61s"),
  refusedFlag("--lock-delay", "-1s"),
  refusedFlag("--lock-delay", "later"),
  refusedFlag("--owner", ""),
  refusedFlag("--owner", "a\nb", String.raw`a\nb`),
  refusedFlag("--owner", "o".repeat(257), "oooo"),
  refusedFlag("--note", long, "xxxx"),
  refusedFlag("--namespace", ""),
  refusedFlag("--namespace", long, "xxxx"),
  refusedFlag("--store", "mysql://host/db"),
  refusedFlag("--store", "locks.db"),
  refusedFlag("--store", "sqlite:"),
  refusedFlag("--store", ""),
  {
    title: "an unknown flag",
    words: ["run", "job", "--fast", "--", "true"],
    names: ["--fast", ""],
  },
  { title: "a flag without value", words: ["run", "job", "--wait"], names: ["--wait", ""] },
  { title: "no name", words: ["run"], names: ["NAME", ""] },
  { title: "an empty name (case 110)", words: ["run", "", "--", "true"], names: ["NAME", '""'] },
  { title: "a name of 1025 bytes", words: ["run", long, "--", "true"], names: ["NAME", "xxxx"] },
  { title: "a line break in a name", words: ["run", "a\nb", "--", "true"], names: ["NAME", "a"] },
  { title: "no command", words: ["run", "job"], names: ["COMMAND", "nothing"] },
  { title: "nothing after --", words: ["run", "job", "--"], names: ["COMMAND", "nothing"] },
  { title: "a command without --", words: ["run", "job", "true"], names: ["COMMAND", "true"] },
  { title: "words before --", words: ["run", "job", "x", "--", "true"], names: ["COMMAND", "x"] },
  { title: "status of an empty name", words: ["status", ""], names: ["NAME", '""'] },
  { title: "why without a name", words: ["why"], names: ["NAME", ""] },
  { title: "an empty name to watch", words: ["watch", ""], names: ["NAME", '""'] },
  { title: "name and prefix", words: ["watch", "a", "--prefix", "b"], names: ["--prefix", "a"] },
  { title: "an unknown state", words: ["ls", "--state", "busy"], names: ["--state", "busy"] },
  { title: "a limit of 0", words: ["ls", "--limit", "0"], names: ["--limit", "0"] },
  { title: "an unknown kind", words: ["history", "--kind", "x"], names: ["--kind", "x"] },
  {
    title: "a wrong date",
    words: ["history", "--since", "2026-99"],
    names: ["--since", "2026-99"],
  },
  { title: "a wrong age", words: ["history", "--since", "1y"], names: ["--since", "1y"] },
  { title: "release without --force", words: ["release", "job"], names: ["--force", ""] },
  {
    title: "release without a reason",
    words: ["release", "--force", "job"],
    names: ["--reason", ""],
  },
  {
    title: "release with an empty reason",
    words: ["release", "--force", "job", "--reason", ""],
    names: ["--reason", '""'],
  },
  {
    title: "release with token 0",
    words: ["release", "--force", "job", "--reason", "r", "--token", "0"],
    names: ["--token", "0"],
  },
  { title: "an unknown shell", words: ["completion", "tcsh"], names: ["SHELL", "tcsh"] },
  { title: "an unknown command", words: ["frobnicate"], names: ["command", "frobnicate"] },
  { title: "too many names", words: ["status", "a", "b"], names: ["status", ""] },
];

describe("wrong usage ends with 64 before anything is written", { timeout }, () => {
  test.concurrent.for(refusedRows)("$title", async ({ words, names }) => {
    await using world = new World();
    const ended = await world.run(words);
    expect(ended).toMatchObject({ code: 64, stdout: "" });
    for (const name of names) expect(ended.stderr).toContain(name);
    expect(ended.stderr).toMatch(/^leasehold: /);
    expect(existsSync(world.storePath)).toBe(false);
  });
});

const names = [
  `it's "quoted"`,
  "100 %s %d $HOME `id` \\",
  "🔒 ключ 鍵",
  "__proto__",
  "constructor",
  "   ",
  "/",
  "a//b",
  "..",
  "Name",
  "name",
  "ä",
  "a\u0308",
  "x".repeat(1024),
];

test("unusual names are distinct, ordinary names (case 110)", { timeout }, async () => {
  await using world = new World();
  const runs = await Promise.all(
    names.map((name) => world.run(["run", name, "--", "sh", "-c", `printf %s "$LEASEHOLD_NAME"`])),
  );
  expect(runs.map(({ stdout }) => stdout)).toEqual(names);
  const listed = await world.run(["ls", "--json"]);
  const { locks } = JSON.parse(listed.stdout) as { locks: { name: string; counter: number }[] };
  expect(new Set(locks.map(({ name }) => name))).toEqual(new Set(names));
  expect(locks.every(({ counter }) => counter === 1)).toBe(true);
});

test("a lease of zero means the default, one that is too long is capped", { timeout }, async () => {
  await using world = new World();
  const leaseOf = async (lease: string): Promise<number> => {
    const ended = await world.run(["run", "job", "--json", "--lease", lease, "--", "true"]);
    const [granted = "{}"] = ended.stderr.split("\n");
    return (JSON.parse(granted) as { leaseMs: number }).leaseMs;
  };
  expect(await leaseOf("0s")).toBe(30_000);
  expect(await leaseOf("1h")).toBe(300_000);
});
