import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";

import type { Environment } from "../../config.ts";

/** Where the system looks for commands when nobody says where. */
const pathDefault = "/usr/local/bin:/usr/bin:/bin";

export function pathOf(environment: Environment): string {
  return environment["PATH"] ?? pathDefault;
}

export type CommandFinding = "found" | "missing" | "not-executable";

/**
 * Looks for a command as `exec` will, so that a slip of the pen is told before anybody waits for
 * a lock. The last word is that of `exec` itself.
 */
export function findCommand(command: string, environment: Environment): CommandFinding {
  if (command.includes("/")) return examine(command);
  const folders = pathOf(environment).split(":");
  const paths = folders.map((folder) => join(folder === "" ? "." : folder, command));
  const findings = new Set(paths.map(examine));
  if (findings.has("found")) return "found";
  return findings.has("not-executable") ? "not-executable" : "missing";
}

/** The path of a command, or undefined where there is none. */
export function pathOfCommand(command: string, environment: Environment): string | undefined {
  return pathOf(environment)
    .split(":")
    .map((folder) => join(folder === "" ? "." : folder, command))
    .find((path) => examine(path) === "found");
}

function examine(path: string): CommandFinding {
  try {
    const isFile = statSync(path).isFile();
    accessSync(path, constants.X_OK);
    return isFile ? "found" : "not-executable";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "EACCES" ? "not-executable" : "missing";
  }
}
