import { InvalidArgumentError as CommanderRefusal } from "commander";
import { auditKinds } from "leasehold";
import type { AuditKind, EpochMs, HistoryEntry, Space } from "leasehold";

import { printable } from "../output/printable.ts";
import { formatTable } from "../output/table.ts";
import { clockText, spanText } from "../output/time-text.ts";
import type { Call, Cli, CommandTree } from "./cli.ts";
import { actionOf, withSpace } from "./cli.ts";
import { examplesText } from "./examples.ts";
import { exitCodes } from "./exit-codes.ts";
import { choiceOption, durationForms, readDuration } from "./option-values.ts";

/** Entries that a table holds at most; lines of JSON have no such bound. */
const shownMax = 100_000;

type Since = { readonly agoMs: number } | { readonly at: EpochMs };

interface HistoryFlags {
  readonly since?: Since;
  readonly kind?: AuditKind;
}

const columns = [
  { title: "TIME" },
  { title: "NAME" },
  { title: "WHAT" },
  { title: "TOKEN", align: "right" },
  { title: "HELD", align: "right" },
  { title: "OWNER" },
  { title: "BY, WHY" },
] as const;

const examples = [
  ["leasehold history nightly", "what became of the grants of one lock"],
  ["leasehold history --since 24h --kind forced", "who forced what within a day"],
  ["leasehold history --since 2026-01-31 --json", "from a date on, as lines of JSON"],
] as const;

/** Adds `history [NAME]`. */
export function addHistory(tree: CommandTree): void {
  tree.program
    .command("history")
    .summary("show how grants came to their end")
    .description(
      "Shows the recorded ends of grants: lost, reclaimed from the dead, forced, and by whom. " +
        "Ordinary grants and releases are recorded only where an application asks for it.",
    )
    .argument("[NAME]", "the lock; without it all locks")
    .option("--since <when>", "from so long ago (24h) or from an instant (ISO 8601) on", sinceValue)
    .addOption(choiceOption("--kind <kind>", "only entries of this kind", auditKinds))
    .addHelpText("after", examplesText(examples))
    .action(actionOf<HistoryFlags>(tree, (call) => history(tree.cli, call)));
}

/** Reads `24h` as a time ago, and anything that begins like a date as an instant. */
function sinceValue(text: string): Since {
  if (/^\d{4}-\d{2}/.test(text)) {
    const at = Date.parse(text);
    if (Number.isFinite(at)) return { at };
  } else {
    const agoMs = readDuration(text);
    if (agoMs >= 0) return { agoMs };
  }
  throw new CommanderRefusal(`It must be a duration such as ${durationForms}, or an ISO date.`);
}

async function history(cli: Cli, call: Call<HistoryFlags>): Promise<number> {
  const { settings, operands } = call;
  const [name] = operands;
  await cli.rehearse(settings, (space) => space.status(name ?? "any"));
  const entries: HistoryEntry[] = [];
  const nowMs = await withSpace(cli, settings, async (space) => {
    const now = await engineNow(space);
    const { since, kind } = call.options;
    const kindsAsked = kind === undefined ? undefined : [kind];
    const query = { name, since: sinceInstant(since, now), kinds: kindsAsked };
    for await (const entry of space.history(query)) {
      if (settings.isJson) cli.out.json(entry);
      else entries.push(entry);
      if (entries.length === shownMax) break;
    }
    return now;
  });
  if (entries.length > 0) showEntries(cli, entries, nowMs);
  else if (!settings.isJson && !settings.isQuiet) cli.err.line("leasehold: nothing is recorded");
  return exitCodes.done;
}

/** The engine's time: entries are dated by it, and this host's calendar may have been set since. */
async function engineNow(space: Space): Promise<EpochMs> {
  const { now } = await space.status("any");
  return now;
}

function sinceInstant(since: Since | undefined, nowMs: EpochMs): EpochMs | undefined {
  if (since === undefined) return undefined;
  return "at" in since ? since.at : nowMs - since.agoMs;
}

function showEntries({ out }: Cli, entries: readonly HistoryEntry[], nowMs: EpochMs): void {
  const rows = entries.map(({ at, name, kind, token, heldMs, owner, by, reason }) => {
    const actor = by === undefined ? "" : `${by.app ?? ""} ${by.host}/${by.pid}`.trim();
    const why = [actor, reason ?? ""].filter((part) => part !== "").map(printable);
    const held = heldMs === undefined ? "" : spanText(heldMs);
    const what = [clockText(at, nowMs), printable(name), kind, String(token), held];
    return [...what, printable(owner), why.join(": ")];
  });
  for (const line of formatTable(columns, rows, out.palette.dim)) out.line(line);
}
