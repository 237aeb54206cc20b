import { lockStates } from "leasehold";
import type { LockState } from "leasehold";

import { ownersText } from "../output/lock-text.ts";
import { printable } from "../output/printable.ts";
import { formatTable } from "../output/table.ts";
import { clockText, relativeText } from "../output/time-text.ts";
import type { Call, Cli, CommandTree } from "./cli.ts";
import { actionOf, withSpace } from "./cli.ts";
import { examplesText } from "./examples.ts";
import { exitCodes } from "./exit-codes.ts";
import { listLocks } from "./listing.ts";
import { choiceOption, integerValue } from "./option-values.ts";

const limitDefault = 1000;
const limitMax = 1_000_000;

interface LsOptions {
  readonly prefix?: string;
  readonly state?: LockState;
  readonly limit: number;
}

const columns = [
  { title: "NAME" },
  { title: "STATE" },
  { title: "TOKEN", align: "right" },
  { title: "SINCE" },
  { title: "UNTIL" },
  { title: "WAITING", align: "right" },
  { title: "OWNER" },
] as const;

const examples = [
  ["leasehold ls", "every lock that the store remembers"],
  ["leasehold ls --state held", "only what is held now"],
  ["leasehold ls --prefix inventory/ --json", "one branch, for programs"],
] as const;

/** Adds `ls`. */
export function addLs(tree: CommandTree): void {
  tree.program
    .command("ls")
    .summary("list locks")
    .description("Lists locks by name. A lock that nobody uses is forgotten after a while.")
    .option("--prefix <text>", "only names that begin so")
    .addOption(choiceOption("--state <state>", "only locks in this state", lockStates))
    .option("--limit <n>", "at most so many", integerValue(1, limitMax), limitDefault)
    .addHelpText("after", examplesText(examples))
    .action(actionOf<LsOptions>(tree, (call) => ls(tree.cli, call)));
}

async function ls(cli: Cli, { settings, options }: Call<LsOptions>): Promise<number> {
  await cli.rehearse(settings, (space) => space.list({ ...options, limit: 1 }));
  const { locks, isCut } = await withSpace(cli, settings, (space) => listLocks(space, options));
  if (settings.isJson) {
    cli.out.json({ locks, isCut });
    return exitCodes.done;
  }
  const rows = locks.map((status) => {
    const { name, state, token, now, holders, depth } = status;
    const [holder] = holders;
    const since = holder === undefined ? "" : clockText(holder.since, now);
    const until = holder === undefined ? "" : relativeText(holder.expiresAt, now);
    const place = [since, until, depth === 0 ? "" : String(depth), ownersText(status)];
    return [printable(name), state, token === 0 ? "" : String(token), ...place];
  });
  if (rows.length > 0) {
    for (const line of formatTable(columns, rows, cli.out.palette.dim)) cli.out.line(line);
  } else if (!settings.isQuiet) {
    cli.err.line("leasehold: no such lock");
  }
  if (isCut && !settings.isQuiet) {
    cli.err.line(`leasehold: there are more than ${options.limit}; see --limit and --prefix`);
  }
  return exitCodes.done;
}
