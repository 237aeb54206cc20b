import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";

import type { Environment } from "../../config.ts";
import { pathOfCommand } from "./command-path.ts";

/**
 * The gate: becomes the command once a line comes through descriptor 3, and ends without having
 * done anything when the wrapper dies before. So there is no moment in which a command is at work
 * that the watchdog does not know yet.
 *
 * `setpriv` asks the kernel to kill the command when the wrapper dies. It takes effect even when
 * wrapper and watchdog are killed together, but for the direct child only. It is tried first,
 * because not every program of that name knows the flag; that takes place while the wrapper talks
 * to the watchdog.
 */
const script = `
if setpriv --pdeathsig KILL -- true </dev/null >/dev/null 2>&1; then
  set -- setpriv --pdeathsig KILL -- "$@"
fi
read -r go <&3 || exit 125
exec 3<&-
exec "$@"
`;

/** How the command came to its end. */
export interface CommandExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface GateTerms {
  readonly command: readonly string[];
  readonly environment: Environment;
  /** In a session and a process group of its own, without a controlling terminal. */
  readonly isDetached: boolean;
}

/** A command that was started, but not let go yet. */
export class GatedCommand {
  readonly pid: number;
  /** Resolves when the direct child has ended. */
  readonly exited: Promise<CommandExit>;
  readonly #gate: Writable;

  private constructor(child: ChildProcess, pid: number) {
    this.pid = pid;
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
    });
    this.#gate = child.stdio[3] as Writable;
    // A gate that was killed before it was opened is told by `exited`.
    this.#gate.on("error", () => undefined);
  }

  /** Starts the gate. Rejects when the system refuses, for lack of memory or of processes. */
  static async start({ command, environment, isDetached }: GateTerms): Promise<GatedCommand> {
    const words = ["-c", script, "leasehold-gate", ...command];
    const child = spawn(shellFor(environment), words, {
      detached: isDetached,
      env: environment,
      stdio: ["inherit", "inherit", "inherit", "pipe"],
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    return new GatedCommand(child, child.pid as number);
  }

  /** Lets the command go. */
  open(): void {
    this.#gate.end("go\n");
  }

  /** Ends the gate without a command. */
  abandon(): void {
    this.#gate.end();
  }
}

/**
 * The system's shell; bash for an environment with names that are no names to a shell, such as
 * `INPUT_dry-run`: other shells keep them from what they start.
 */
function shellFor(environment: Environment): string {
  const isPlain = Object.keys(environment).every((name) => /^[A-Za-z_]\w*$/.test(name));
  return isPlain ? "/bin/sh" : (pathOfCommand("bash", environment) ?? "/bin/sh");
}

/** The environment of the command: the wrapper's, without the channel to its launcher. */
export function commandEnvironment(
  environment: Environment,
  facts: Readonly<Record<string, string>>,
): Environment {
  const {
    NODE_CHANNEL_FD: _descriptor,
    NODE_CHANNEL_SERIALIZATION_MODE: _mode,
    ...inherited
  } = environment;
  return { ...inherited, ...facts };
}
