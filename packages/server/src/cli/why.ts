import { holderText } from "../output/lock-text.ts";
import { printable } from "../output/printable.ts";
import { instantText } from "../output/time-text.ts";
import type { Call, Cli, CommandTree } from "./cli.ts";
import { actionOf, withSpace } from "./cli.ts";
import { examplesText } from "./examples.ts";
import { exitCodes } from "./exit-codes.ts";

const examples = [
  ["leasehold why nightly", "what keeps a new request out, and until when"],
  ["leasehold why nightly --json", "the same for programs"],
] as const;

/** Adds `why NAME`. */
export function addWhy(tree: CommandTree): void {
  tree.program
    .command("why")
    .summary("say what keeps a new request out")
    .description("Says why a new exclusive request would have to wait, and until when.")
    .argument("<NAME>", "the lock")
    .addHelpText("after", examplesText(examples))
    .action(actionOf(tree, (call) => why(tree.cli, call)));
}

async function why(cli: Cli, { settings, operands }: Call): Promise<number> {
  const [name = ""] = operands;
  await cli.rehearse(settings, (space) => space.status(name));
  const found = await withSpace(cli, settings, (space) => space.why(name));
  const { line, json, palette } = cli.out;
  if (settings.isJson) {
    json(found);
    return exitCodes.done;
  }
  const { because, earliestAt } = found;
  const { holders, queue, depth, now } = found.status;
  const isOpen = because.length === 0;
  const verdict = isOpen ? palette.good("would be granted at once") : "would have to wait";
  line(`${palette.bold(printable(name))}  a new exclusive request ${verdict}`);
  for (const holder of holders) line(`  ${holder.state}: ${holderText(holder, now)}`);
  if (depth > 0) {
    const first = queue[0] === undefined ? "" : `, first ${printable(queue[0].owner)}`;
    line(`  ${depth} waiting before it${first}`);
  }
  if (earliestAt !== null && !isOpen) {
    line(`  without a renewal or a release it is out at ${instantText(earliestAt, now)}`);
  }
  return exitCodes.done;
}
