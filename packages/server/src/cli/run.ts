import { Option } from "commander";

import type { Environment } from "../config.ts";
import { printable } from "../output/printable.ts";
import { spanText } from "../output/time-text.ts";
import type { Call, CommandTree } from "./cli.ts";
import { actionOf } from "./cli.ts";
import { examplesText } from "./examples.ts";
import { exitCodes } from "./exit-codes.ts";
import { CommandFailure, usageFailure } from "./failure.ts";
import { anyDurationValue, durationForms, durationValue } from "./option-values.ts";
import { integerValue, waitValue } from "./option-values.ts";
import { findCommand } from "./run/command-path.ts";
import type { RunRequest } from "./run/locked-run.ts";
import { runLocked } from "./run/locked-run.ts";

interface RunFlags {
  /** False with --no-wait. */
  readonly wait: number | false;
  readonly shared?: boolean;
  readonly lease: string;
  readonly grace: number;
  readonly conflictExitCode: number;
  readonly lockDelay?: string;
  readonly owner?: string;
  readonly note?: string;
  readonly foreground?: boolean;
}

const defaults = Object.freeze({ waitMs: 30_000, graceMs: 5000 });
const graceRule = Object.freeze({ mostMs: 3_600_000, most: '"1h"' });
/** Exit codes of a process. */
const exitCodeMax = 255;

const description = [
  "Runs a command while holding a lock, and ends with the exit code of the command.",
  "",
  "The command gets LEASEHOLD_NAME, LEASEHOLD_TOKEN (its fencing token), LEASEHOLD_LEASE_ID, " +
    "LEASEHOLD_STORE and LEASEHOLD_NAMESPACE. SIGTERM, SIGINT, SIGHUP and SIGQUIT are handed on " +
    "to it, and KILL follows after the grace.",
].join("\n");

const after = `
How the command is stopped:
  The command and what it starts form a process group. All of it has ended
  before the lock can be granted to anybody else: TERM first, KILL after
  --grace. When the lease cannot be renewed, KILL comes at its end less a
  margin, and TERM a grace before that; the grace is then at most a third of the
  lease. A watchdog does the same when this process is stopped. When this
  process is killed, the command itself is killed with it, without a TERM, and
  the watchdog ends the rest of the group. What is left of the group when the
  command ends is ended before the release.

  Out of reach are processes that leave the group (setsid, daemons), and
  grandchildren when this process and its watchdog are killed at once. Send
  LEASEHOLD_TOKEN along to what they write to, and refuse older tokens there.
  After release --force the next holder starts at once, while the command is
  still being stopped: see --lock-delay.

  The command has no controlling terminal: use --foreground for sudo, ssh and
  editors. It is weaker: only the command itself is signalled and watched, not
  what it has started.

Exit codes:
  the command's own, or 128 + n when signal n ended it
  64  wrong usage, nothing was written
  69  the store is unavailable
  70  the lease was lost, the command was ended
  71  the system would not start a process
  75  the lock was not got (see --conflict-exit-code)
  126, 127  the command is not executable, not found`;

const examples = [
  ["leasehold run nightly -- ./backup.sh", "waits up to 30s for its turn"],
  ["leasehold run nightly --no-wait -- ./backup.sh", "gives up at once, with 75"],
  ["leasehold run report --shared -- ./read.sh", "beside others that share it"],
  ["leasehold run deploy --wait forever -- make", "waits as long as it takes"],
] as const;

/** Adds `run NAME -- CMD...`. */
export function addRun(tree: CommandTree): void {
  const grace = durationValue(graceRule);
  const exitCode = integerValue(0, exitCodeMax);
  tree.program
    .command("run")
    .summary("run a command while holding a lock")
    .description(description)
    .usage("NAME [options] -- COMMAND...")
    .argument("<NAME>", "the lock")
    .argument("[COMMAND...]", "the command and its arguments, after --")
    .addOption(
      new Option("--wait <time>", 'how long to wait for the lock, or "forever"')
        .argParser(waitValue)
        .default(defaults.waitMs, spanText(defaults.waitMs)),
    )
    .option("--no-wait", "give up at once when the lock is held")
    .option("--shared", "hold the lock together with others that share it")
    .option("--lease <time>", "how long others wait when this host dies", anyDurationValue, "30s")
    .addOption(
      new Option("--grace <time>", "from TERM to KILL, at most 1h")
        .argParser(grace)
        .default(defaults.graceMs, spanText(defaults.graceMs)),
    )
    .addOption(
      new Option("--conflict-exit-code <n>", "exit code when the lock was not got")
        .argParser(exitCode)
        .default(exitCodes.conflict),
    )
    .option("--lock-delay <time>", "keep others out for so long after a loss", anyDurationValue)
    .option("--owner <text>", "who holds it, for people (default: user@host/pid)")
    .option("--note <text>", "shown beside the owner")
    .option("--foreground", "leave the command on the terminal; weaker, see below")
    .addHelpText("after", `\nTimes are written as ${durationForms}.\n${after}`)
    .addHelpText("after", examplesText(examples))
    .action(actionOf<RunFlags>(tree, (call) => run(tree, call)));
}

async function run({ cli, words }: CommandTree, call: Call<RunFlags>): Promise<number> {
  const { settings, options } = call;
  const [name = "", ...rest] = call.operands;
  const command = commandOf(rest, words);
  const request = requestOf(options, `${cli.person}/${process.pid}`);
  await cli.rehearse(settings, (space) => space.acquire(name, { ...request, wait: 0 }));
  assertCommandExists(command, cli.environment);
  return runLocked(cli, {
    name,
    command,
    settings,
    request,
    graceMs: options.grace,
    conflictExitCode: options.conflictExitCode,
    isForeground: options.foreground === true,
  });
}

/**
 * The command from the words after the name. It must stand after `--`: without it, an option of
 * the command would be taken for one of `run` without a word. A name that begins with a dash is
 * given after a `--` of its own: `run -- -x -- COMMAND`.
 */
function commandOf(rest: readonly string[], words: readonly string[]): readonly string[] {
  const dashesAt = words.indexOf("--");
  const afterDashes = dashesAt === -1 ? 0 : words.length - dashesAt - 1;
  const isNameAfterDashes = rest[0] === "--" && afterDashes === rest.length + 1;
  const command = isNameAfterDashes ? rest.slice(1) : rest;
  const isWhole = isNameAfterDashes || (dashesAt !== -1 && afterDashes === rest.length);
  if (isWhole && (command[0] ?? "") !== "") return command;
  const got = rest.length === 0 ? "nothing" : JSON.stringify(rest.join(" "));
  throw usageFailure(`COMMAND must stand after --, as in run NAME -- COMMAND; got ${got}`);
}

function assertCommandExists([command = ""]: readonly string[], environment: Environment): void {
  const finding = findCommand(command, environment);
  const shown = printable(command);
  switch (finding) {
    case "found":
      return;
    case "missing":
      throw new CommandFailure(exitCodes.notFound, "NOT_FOUND", `${shown}: command not found`);
    case "not-executable":
      throw new CommandFailure(
        exitCodes.notExecutable,
        "NOT_EXECUTABLE",
        `${shown}: the command is not executable`,
      );
  }
}

function requestOf(flags: RunFlags, ownerDefault: string): RunRequest {
  return {
    wait: flags.wait === false ? 0 : flags.wait,
    mode: flags.shared === true ? "shared" : "exclusive",
    lease: flags.lease,
    lockDelay: flags.lockDelay,
    owner: flags.owner ?? ownerDefault,
    note: flags.note,
  };
}
