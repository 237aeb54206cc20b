import type { LockState, LockStatus, Space } from "leasehold";

import { holderText, stateText } from "../output/lock-text.ts";
import { printable } from "../output/printable.ts";
import { formatFacts } from "../output/table.ts";
import type { TextOutput } from "../output/text-output.ts";
import { instantText } from "../output/time-text.ts";
import type { Call, Cli, CommandTree } from "./cli.ts";
import { actionOf, withSpace } from "./cli.ts";
import { examplesText } from "./examples.ts";
import { exitCodes } from "./exit-codes.ts";
import { listLocks } from "./listing.ts";

/** Locks that a summary counts at most. */
const countedMax = 1_000_000;

const examples = [
  ["leasehold status nightly", "who holds it, until when, who waits"],
  ["leasehold status nightly --json", "the same for programs"],
  ["leasehold status", "the store, and how many locks are in which state"],
] as const;

/** Adds `status [NAME]`. */
export function addStatus(tree: CommandTree): void {
  tree.program
    .command("status")
    .summary("show a lock, or sum the store up")
    .description("Shows a lock with its holders and its queue; without a name, sums the store up.")
    .argument("[NAME]", "the lock")
    .addHelpText("after", examplesText(examples))
    .action(actionOf(tree, (call) => status(tree.cli, call)));
}

async function status(cli: Cli, { settings, operands }: Call): Promise<number> {
  const [name] = operands;
  if (name === undefined) {
    await cli.rehearse(settings, (space) => space.list({ limit: 1 }));
    const summary = await withSpace(cli, settings, summarize);
    const { storeUrl: store, namespace } = settings;
    if (settings.isJson) cli.out.json({ store, namespace, ...summary });
    else
      showSummary(
        cli.out,
        [
          ["store", store],
          ["namespace", printable(namespace)],
        ],
        summary,
      );
    return exitCodes.done;
  }
  await cli.rehearse(settings, (space) => space.status(name));
  const found = await withSpace(cli, settings, (space) => space.status(name));
  if (settings.isJson) cli.out.json(found);
  else showStatus(cli.out, found);
  return exitCodes.done;
}

/** Prints a lock: a headline, a line for each fact, a line for each holder and waiter. */
function showStatus({ line, palette }: TextOutput, found: LockStatus): void {
  const { state, holders, depth, queue, token, counter, now } = found;
  const mode = found.mode === null || state === "shared" ? "" : ` ${found.mode}`;
  line(`${palette.bold(printable(found.name))}  ${stateText(state, palette)}${mode}`);
  const facts: [string, string][] = [];
  if (token > 0) facts.push(["token", String(token)]);
  else facts.push(["token", counter > 0 ? `none, the last one was ${counter}` : "none so far"]);
  for (const holder of holders) {
    facts.push([holder.state === "held" ? "holder" : holder.state, holderText(holder, now)]);
    if (holder.note !== undefined) facts.push(["note", printable(holder.note)]);
  }
  facts.push(["waiting", String(depth)]);
  for (const { position, owner, mode: asked, since } of queue) {
    const text = `${printable(owner)} ${asked} since ${instantText(since, now)}`;
    facts.push([`  ${position + 1}`, text]);
  }
  if (depth > queue.length) facts.push(["", `and ${depth - queue.length} more`]);
  for (const fact of formatFacts(facts)) line(fact);
}

interface Summary {
  readonly engine: string;
  readonly locks: Readonly<Partial<Record<LockState, number>>>;
  readonly total: number;
  readonly waiting: number;
  /** There are more locks than were counted. */
  readonly isCut: boolean;
}

async function summarize(space: Space): Promise<Summary> {
  const { locks, isCut } = await listLocks(space, { limit: countedMax });
  const counts: Partial<Record<LockState, number>> = {};
  let waiting = 0;
  for (const { state, depth } of locks) {
    counts[state] = (counts[state] ?? 0) + 1;
    waiting += depth;
  }
  const { engine } = space.capabilities;
  return { engine, locks: counts, total: locks.length, waiting, isCut };
}

function showSummary(
  { line, palette }: TextOutput,
  place: readonly (readonly [string, string])[],
  { engine, locks, total, waiting, isCut }: Summary,
): void {
  const states = Object.entries(locks) as [LockState, number][];
  const counts = states.map(([state, count]) => `${count} ${stateText(state, palette)}`);
  const byState = counts.length === 0 ? "" : ` (${counts.join(", ")})`;
  const facts: readonly (readonly [string, string])[] = [
    ...place,
    ["engine", engine],
    ["locks", `${isCut ? "more than " : ""}${total}${byState}`],
    ["waiting", String(waiting)],
  ];
  for (const fact of formatFacts(facts)) line(fact);
}
