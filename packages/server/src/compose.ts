import { mkdirSync, readFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";

import { open, systemClock } from "leasehold";

import type { Cli } from "./cli/cli.ts";
import type { Environment, Settings } from "./config.ts";
import { folderOf } from "./config.ts";
import { createTextOutput } from "./output/text-output.ts";

/** Only the owner may look into the folder of the default store. */
const folderMode = 0o700;

/** Builds what the commands need from this process; the only place that opens a space. */
export function composeCli(): Cli {
  const environment: Environment = process.env;
  const person = personName(environment);
  const openSpace: Cli["openSpace"] = (settings, options = {}) => {
    makeDefaultFolder(settings);
    const common = { namespace: settings.namespace, app: `leasehold of ${person}` };
    // A command does one thing at a time: a second thread would only take time to start.
    return open(settings.storeUrl, { ...common, thread: "caller", ...options });
  };
  return {
    environment,
    clock: systemClock,
    // A reader that has seen enough, such as `head`, ends a command without a word.
    out: createTextOutput(process.stdout, environment, () => process.exit(0)),
    err: createTextOutput(process.stderr, environment, () => undefined),
    version: readVersion(),
    person: `${person}@${hostname()}`,
    openSpace,
    rehearse: async ({ namespace }, calls) => {
      await using space = await open("memory:", { namespace });
      await calls(space);
    },
  };
}

function makeDefaultFolder(settings: Settings): void {
  const folder = folderOf(settings);
  if (!settings.isDefaultStore || folder === null) return;
  try {
    mkdirSync(folder, { recursive: true, mode: folderMode });
  } catch {
    // The engine names the path and the reason when it cannot open the file.
  }
}

/** The account's name; processes of a container may run under a number without one. */
function personName(environment: Environment): string {
  try {
    return userInfo().username;
  } catch {
    return environment["USER"] ?? `user-${process.getuid?.() ?? "unknown"}`;
  }
}

function readVersion(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
