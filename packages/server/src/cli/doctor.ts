import { printable } from "../output/printable.ts";
import type { Palette } from "../output/palette.ts";
import type { Call, Cli, CommandTree } from "./cli.ts";
import { actionOf } from "./cli.ts";
import type { Finding, Verdict } from "./doctor/finding.ts";
import { examineFile, examineFolder } from "./doctor/file-findings.ts";
import { examinePrograms } from "./doctor/program-findings.ts";
import { examineStore } from "./doctor/store-findings.ts";
import { examplesText } from "./examples.ts";
import { exitCodes } from "./exit-codes.ts";

const examples = [
  ["leasehold doctor", "is the store fit for use?"],
  ["leasehold doctor --store sqlite:/var/lib/app/locks.db", "is this one?"],
] as const;

/** Adds `doctor`. */
export function addDoctor(tree: CommandTree): void {
  tree.program
    .command("doctor")
    .summary("find out what is wrong")
    .description(
      "Examines the store and this host: reach, permissions, kind of file system, clock, time of " +
        "a commit, programs that run needs. Takes and releases the lock leasehold/doctor for it. " +
        "Ends with 1 when something is wrong; each finding names its cure.",
    )
    .addHelpText("after", examplesText(examples))
    .action(actionOf(tree, (call) => doctor(tree.cli, call)));
}

async function doctor(cli: Cli, { settings }: Call): Promise<number> {
  await cli.rehearse(settings, (space) => space.list({ limit: 1 }));
  const findings: readonly Finding[] = [
    ...examineFolder(settings),
    ...(await examineStore(cli, settings)),
    ...examineFile(settings),
    ...examinePrograms(cli.environment),
  ];
  const isSound = findings.every(({ verdict }) => verdict !== "wrong");
  if (settings.isJson) {
    cli.out.json({ store: settings.storeUrl, namespace: settings.namespace, isSound, findings });
  } else {
    for (const finding of findings) {
      if (!settings.isQuiet || finding.verdict !== "good") showFinding(cli, finding);
    }
  }
  return isSound ? exitCodes.done : exitCodes.failed;
}

const marks: Readonly<Record<Verdict, keyof Palette>> = Object.freeze({
  good: "good",
  note: "attention",
  wrong: "bad",
});

function showFinding({ out }: Cli, { subject, verdict, text, cure }: Finding): void {
  const mark = out.palette[marks[verdict]](verdict.padEnd(5));
  out.line(`${mark}  ${subject}: ${printable(text)}`);
  if (cure !== undefined) out.line(`       ${cure}`);
}
