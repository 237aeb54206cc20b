import type { FigureTable, RunResult } from "../packages/library/test/results/run-result.ts";

/** The stored figures of all runs, from which the page is made. */
export const FIGURES = "docs/verification.json";
export const PAGE = "docs/verification.md";

type RunName = RunResult["run"];

interface Section {
  readonly run: RunName;
  readonly title: string;
  /** What was run and what it can show; it claims nothing beyond the bounds in the tables. */
  readonly text: string;
}

const SECTIONS: readonly Section[] = [
  {
    run: "explorer",
    title: "Every interleaving of small worlds",
    text: `The decisions and the steps of the shells that are shipped, explored breadth first: which
client acts next, how each call of the store goes, crashes, time. A world sets how many clients,
requests and faults there are; "all states" says that no state within it was left out.
Invariants are checked after every step, and for every state whether all calls end when no more
faults strike.`,
  },
  {
    run: "mutants",
    title: "Faults put into the explored code",
    text: `Each mutant is the shipped code with one thing wrong. The explorer has to find it by the
invariant that the specification names for it.`,
  },
  {
    run: "models",
    title: "Second opinions",
    text: `A model of one lock with three clients and a fenced resource, in Promela, written from
the invariants and not from the code. Spin visits every state within the stated numbers of
attempts, faults, writes and renewals; \`assertions\` are the invariants, \`settles\` says for
one client that whoever waits comes to an end of it, under weak fairness. The arithmetic of
admission to one exclusive lock is proved by z3 by induction over unbounded integers: \`unsat\`
means that there is no counterexample, \`sat\` that a premise is possible. Tests compare the
steps of the proof with the shipped decisions. Batches, upgrades, claims, forced ends,
lock-delays and clock error are in neither.`,
  },
  {
    run: "simulation",
    title: "Simulated runs",
    text: `Whole processes with injected clock, network and store, driven by one seed each, which
sample schedules and do not exhaust them. The rare events are what the runs must meet to say
anything about it; the table tells how often they did.`,
  },
  {
    run: "histories",
    title: "Recorded histories",
    text: `Real processes on one SQLite file, killed, stopped longer than their lease, and under a
calendar that is set while they run. Every call is recorded with its beginning and its end by
the monotonic clock of the host, and checked for the order of tokens and for linearizability.
Each history is then falsified, one wrong answer at a time, to see whether the check would
notice; some wrong answers could have been right at another instant of their call.`,
  },
  {
    run: "resource",
    title: "A fenced resource",
    text: `Processes append to a list by reading and writing all of it, under one lock, and holders
are stopped between the two for longer than their lease. Without a fence acknowledged appends
must be lost, or the stops would show nothing.`,
  },
];

/** The page of the stored figures; the same figures always give the same page. */
export function verificationPage(results: readonly RunResult[]): string {
  const sections = SECTIONS.flatMap((section) => {
    const result = results.find(({ run }) => run === section.run);
    return result === undefined ? [] : [sectionText(section, result)];
  });
  const missing = SECTIONS.filter(({ run }) => results.every((result) => result.run !== run));
  const untold =
    missing.length === 0 ? [] : [`Not run: ${missing.map(({ title }) => title).join("; ")}.`];
  return `${[
    "# Verification",
    `This page is written by \`npm run verify:report\` from the figures of the last runs, which
\`npm run verify:long\` makes. It says what was run and found within the bounds that are given;
nothing here was counted by hand. Seconds depend on the machine.`,
    ...untold,
    ...sections,
  ].join("\n\n")}\n`;
}

function sectionText({ title, text }: Section, { command, tables, failures }: RunResult): string {
  const found =
    failures.length === 0
      ? "Nothing was found to be wrong."
      : `Found to be wrong: ${failures.join("; ")}.`;
  return [
    `## ${title}`,
    text,
    `Command: \`${command}\`. ${found}`,
    ...tables.filter(({ rows }) => rows.length > 0).map(tableText),
  ].join("\n\n");
}

function tableText({ name, rows }: FigureTable): string {
  const columns = Object.keys(rows[0] ?? {});
  const isNumber = columns.map((column) => rows.every((row) => typeof row[column] === "number"));
  return [
    `**${name[0]?.toUpperCase()}${name.slice(1)}**`,
    "",
    rowText(columns),
    rowText(isNumber.map((is) => (is ? "---:" : "---"))),
    ...rows.map((row) => rowText(columns.map((column) => cellText(row[column])))),
  ].join("\n");
}

function rowText(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function cellText(value: number | string | boolean | undefined): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return (value ?? "").replaceAll("|", "\\|");
  const [whole = "", part] = String(value).split(".");
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, " ");
  return part === undefined ? grouped : `${grouped}.${part}`;
}

/** The results with newer ones of the same run put in their place. */
export function withNewer(
  stored: readonly RunResult[],
  newer: readonly RunResult[],
): readonly RunResult[] {
  return SECTIONS.flatMap(({ run }) => {
    const of = (results: readonly RunResult[]): readonly RunResult[] =>
      results.filter((result) => result.run === run);
    return of(newer).length > 0 ? of(newer) : of(stored);
  });
}
