import type { LockEvent } from "leasehold";

import { ownersText, stateText } from "../output/lock-text.ts";
import { printable } from "../output/printable.ts";
import type { TextOutput } from "../output/text-output.ts";
import { clockText } from "../output/time-text.ts";
import type { Call, Cli, CommandTree } from "./cli.ts";
import { actionOf, withSpace } from "./cli.ts";
import { examplesText } from "./examples.ts";
import { exitCodes } from "./exit-codes.ts";
import { exitCodeOfSignal, usageFailure } from "./failure.ts";
import { Interruption } from "./interruption.ts";

interface WatchOptions {
  readonly prefix?: string;
}

const examples = [
  ["leasehold watch nightly", "a line for each state of one lock, until Ctrl-C"],
  ["leasehold watch --prefix inventory/", "of every lock of a branch"],
  ["leasehold watch --json", "of all locks, as lines of JSON"],
] as const;

/** Adds `watch [NAME]`. */
export function addWatch(tree: CommandTree): void {
  tree.program
    .command("watch")
    .summary("follow locks as they change")
    .description(
      "Prints a line for each state of a lock until it is interrupted. States that follow each " +
        "other quickly may be skipped; a line says how many grants were.",
    )
    .argument("[NAME]", "the lock; without it all locks, or those of --prefix")
    .option("--prefix <text>", "every lock whose name begins so")
    .addHelpText("after", examplesText(examples))
    .action(actionOf<WatchOptions>(tree, (call) => watch(tree.cli, call)));
}

async function watch(cli: Cli, call: Call<WatchOptions>): Promise<number> {
  const { settings, operands, options } = call;
  const [name] = operands;
  if (name !== undefined && options.prefix !== undefined) {
    throw usageFailure(`--prefix cannot be given beside a NAME; got ${JSON.stringify(name)}`);
  }
  const what = name ?? { prefix: options.prefix ?? "" };
  await cli.rehearse(settings, (space) =>
    typeof what === "string" ? space.status(what) : space.list({ ...what, limit: 1 }),
  );
  using interruption = new Interruption();
  const { signal } = interruption;
  await withSpace(cli, settings, async (space) => {
    for await (const event of space.watch(what, { signal })) {
      if (settings.isJson) cli.out.json(event);
      else cli.out.line(eventLine(cli.out, event));
    }
  });
  return interruption.by === undefined ? exitCodes.done : exitCodeOfSignal(interruption.by);
}

function eventLine({ palette }: TextOutput, event: LockEvent): string {
  const { name, type, token, skipped, depth, now } = event;
  const facts = [
    token === 0 ? "" : `token ${token}`,
    ownersText(event),
    depth === 0 ? "" : `${depth} waiting`,
    skipped === 0 ? "" : `${skipped} skipped`,
  ].filter((fact) => fact !== "");
  const head = `${palette.dim(clockText(now, now))}  ${printable(name)}`;
  return [head, stateText(type, palette), ...facts].join("  ");
}
