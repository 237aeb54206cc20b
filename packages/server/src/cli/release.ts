import type { ForceResult, LockStatus } from "leasehold";

import { printable } from "../output/printable.ts";
import type { Call, Cli, CommandTree } from "./cli.ts";
import { actionOf } from "./cli.ts";
import { examplesText } from "./examples.ts";
import { exitCodes } from "./exit-codes.ts";
import { CommandFailure, usageFailure } from "./failure.ts";
import { integerValue } from "./option-values.ts";

interface ReleaseOptions {
  readonly force?: boolean;
  readonly reason?: string;
  readonly token?: number;
  readonly delay: boolean;
}

const examples = [
  ["leasehold status nightly", "first see who holds it, and with which token"],
  [`leasehold release --force nightly --token 42 --reason "host is gone"`, "then end that grant"],
] as const;

/** Adds `release --force NAME`. */
export function addRelease(tree: CommandTree): void {
  tree.program
    .command("release")
    .summary("end somebody else's grant")
    .description(
      "Ends the grants of a lock, whoever holds it, and records who did so and why. The holder " +
        "learns of it at its next renewal; until then it may still be at work.",
    )
    .argument("<NAME>", "the lock")
    .option("--force", "yes, take it away from its holder (required)")
    .option("--reason <text>", "told to the holder and kept in the history (required)")
    .option(
      "--token <n>",
      "only the grant with this token, as status shows it",
      integerValue(1, Number.MAX_SAFE_INTEGER),
    )
    .option("--no-delay", "let the next one in at once, whatever lock-delay was asked for")
    .addHelpText("after", examplesText(examples))
    .action(actionOf<ReleaseOptions>(tree, (call) => release(tree.cli, call)));
}

async function release(cli: Cli, call: Call<ReleaseOptions>): Promise<number> {
  const { settings, operands, options } = call;
  const [name = ""] = operands;
  const { token } = options;
  if (options.force !== true) {
    throw usageFailure(
      "release takes a lock away from its holder and needs --force; a holder gives its own lock " +
        "back by ending",
    );
  }
  if (options.reason === undefined)
    throw usageFailure("--reason is required: why is it taken away?");
  const force = { reason: options.reason, token, noDelay: !options.delay };
  await cli.rehearse(settings, (space) => space.forceRelease(name, force));
  await using space = await cli.openSpace(settings);
  const before = await space.status(name);
  const result = await space.forceRelease(name, force);
  if (result.ended.length === 0) throw nothingEnded(before, token);
  if (settings.isJson) cli.out.json({ name, ...result });
  else if (!settings.isQuiet) showEnded(cli, name, result);
  return exitCodes.done;
}

function nothingEnded({ name, holders }: LockStatus, token: number | undefined): CommandFailure {
  const shown = printable(name);
  const tokens = holders.map((holder) => holder.token).join(", ");
  const message =
    tokens === "" || token === undefined
      ? `${shown} is free: nobody holds it, nothing was changed`
      : `${shown} is not held with token ${token} but with ${tokens}; nothing was changed`;
  return new CommandFailure(exitCodes.failed, "NOTHING_ENDED", message);
}

function showEnded({ out }: Cli, name: string, { ended }: ForceResult): void {
  for (const { token, owner } of ended) {
    out.line(`${printable(name)}: ended the grant of ${printable(owner)} with token ${token}`);
  }
}
