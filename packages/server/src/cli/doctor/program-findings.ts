import { spawnSync } from "node:child_process";

import type { Environment } from "../../config.ts";
import { pathOf } from "../run/command-path.ts";
import type { Finding } from "./finding.ts";

/** Longest that a program may take to say what it can do. */
const probeMsMax = 5000;

/** Examines the programs that `run` leans on. */
export function examinePrograms(environment: Environment): readonly Finding[] {
  return [shellFinding(environment), setprivFinding(environment), nodeFinding()];
}

function works(command: string, words: readonly string[], environment: Environment): boolean {
  const env = { PATH: `${pathOf(environment)}:/usr/bin:/bin` };
  const { status } = spawnSync(command, words, { env, stdio: "ignore", timeout: probeMsMax });
  return status === 0;
}

/** The watchdog is a shell script that sleeps for parts of a second. */
function shellFinding(environment: Environment): Finding {
  const subject = "shell";
  if (works("/bin/sh", ["-c", "sleep 0.001"], environment)) {
    return { subject, verdict: "good", text: "/bin/sh runs the watchdog of leasehold run" };
  }
  const cure = "leasehold run needs a POSIX shell and a sleep that takes fractions of a second.";
  return { subject, verdict: "wrong", text: "/bin/sh cannot sleep for a part of a second", cure };
}

function setprivFinding(environment: Environment): Finding {
  const subject = "setpriv";
  if (works("setpriv", ["--pdeathsig", "KILL", "--", "true"], environment)) {
    return { subject, verdict: "good", text: "commands die with leasehold run" };
  }
  return {
    subject,
    verdict: "note",
    text: "not found, or without --pdeathsig: commands survive a kill of wrapper and watchdog",
    cure: "Install util-linux, where there is such a package.",
  };
}

function nodeFinding(): Finding {
  return { subject: "node", verdict: "good", text: process.version };
}
