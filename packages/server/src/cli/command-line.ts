import { Command, CommanderError } from "commander";

import { storeSchemes } from "../config.ts";
import type { Cli, CommandTree } from "./cli.ts";
import { addCompletion } from "./completion.ts";
import { addDoctor } from "./doctor.ts";
import { examplesText } from "./examples.ts";
import { exitCodes } from "./exit-codes.ts";
import { describeFailure } from "./failure.ts";
import { addHistory } from "./history.ts";
import { addLs } from "./ls.ts";
import { addRelease } from "./release.ts";
import { addRun } from "./run.ts";
import { addStatus } from "./status.ts";
import { addWatch } from "./watch.ts";
import { addWhy } from "./why.ts";

const description = [
  "Runs commands under locks, and shows who holds what.",
  "",
  "A lock is a lease that its holder keeps renewing: it ends by itself when its holder dies, " +
    "and a command that loses its lock is stopped before anybody else can get it.",
].join("\n");

const examples = [
  ["leasehold run nightly -- ./backup.sh", "one backup at a time, on this host"],
  ["leasehold run deploy --no-wait -- make", "give up when somebody else is at it"],
  ["leasehold status nightly", "who holds it, until when, who waits"],
  ["leasehold doctor", "is the store fit for use?"],
] as const;

const after = `
Stores:
  --store or LEASEHOLD_STORE names one: ${Object.values(storeSchemes).join(" or ")}.
  The default is the SQLite file leasehold/leasehold.db in $XDG_STATE_HOME, or
  in ~/.local/state where that is not set.

Exit codes:
  0   done
  1   nothing was done, or something is wrong
  64  wrong usage, nothing was written
  69  the store is unavailable
  70  the lease was lost, the command was ended
  71  the system would not start a process
  75  the lock was not got
  126, 127  the command is not executable, not found
  others    those of the command; 128 + n when signal n ended it`;

/** Every command, in the order of the help. */
const commands = [
  addRun,
  addStatus,
  addLs,
  addWhy,
  addWatch,
  addHistory,
  addRelease,
  addDoctor,
  addCompletion,
];

/**
 * Runs one command line to its end and resolves with the exit code. Never rejects: what goes wrong
 * is told on standard error, with --json as one line of JSON.
 */
export async function runCommandLine(cli: Cli, words: readonly string[]): Promise<number> {
  let exitCode = exitCodes.done;
  const finish = (code: number): void => {
    exitCode = code;
  };
  const isJson = asksForJson(words);
  try {
    await createProgram({ cli, words, finish }, isJson).parseAsync(words, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return endOfCommander(error, cli, isJson);
    const failure = describeFailure(error);
    if (isJson) cli.err.json({ event: "error", code: failure.code, message: failure.message });
    else cli.err.line(`leasehold: ${failure.message}`);
    return failure.exitCode;
  }
}

function createProgram(parts: Omit<CommandTree, "program">, isJson: boolean): Command {
  const { cli } = parts;
  const program = new Command("leasehold")
    .description(description)
    .version(cli.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .option("--store <url>", "the store of the locks (or LEASEHOLD_STORE)")
    .option("--namespace <name>", "locks of others are not seen (or LEASEHOLD_NAMESPACE)")
    .option("--json", "print JSON: one document, or a line for each event")
    .option("--quiet", "say nothing but errors")
    .addHelpText("after", examplesText(examples))
    .addHelpText("after", after)
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => cli.out.raw(text),
      writeErr: (text) => isJson || cli.err.raw(text),
      outputError: (text, write) => write(text.replace(/^error: /, "leasehold: ")),
    });
  for (const add of commands) add({ ...parts, program });
  return program;
}

/** Help and version end as errors too; everything else that Commander says is wrong usage. */
function endOfCommander(error: CommanderError, cli: Cli, isJson: boolean): number {
  if (error.exitCode === 0) return exitCodes.done;
  if (isJson) {
    const message = error.message.replace(/^error: /, "");
    cli.err.json({ event: "error", code: "USAGE", message });
  }
  return exitCodes.usage;
}

/** Known before anything is parsed, so that even a wrong command line is answered as asked. */
function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  return words.slice(0, end === -1 ? words.length : end).includes("--json");
}
