import type { Clock, Space, SpaceOptions } from "leasehold";
import type { Command } from "commander";

import type { Environment, GlobalFlags, Settings } from "../config.ts";
import { readSettings } from "../config.ts";
import type { TextOutput } from "../output/text-output.ts";

/** What every command is given; built once, in compose.ts. */
export interface Cli {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly out: TextOutput;
  readonly err: TextOutput;
  readonly version: string;
  /** Whoever runs this process, for people: `alice@web-1`. */
  readonly person: string;
  /**
   * Opens the store of the settings; makes the folder of the default store. Rejects with
   * `EngineUnavailableError` when the store cannot be reached.
   */
  openSpace(settings: Settings, options?: SpaceOptions): Promise<Space>;
  /**
   * Runs calls on a space in memory, so that the library itself refuses what it would refuse
   * later, before anything is written anywhere.
   */
  rehearse(settings: Settings, calls: (space: Space) => Promise<unknown>): Promise<void>;
}

/** One call of a command. */
export interface Call<Options = unknown> {
  readonly settings: Settings;
  readonly operands: readonly string[];
  readonly options: Options;
}

/** Where commands are added to the tree. */
export interface CommandTree {
  readonly program: Command;
  readonly cli: Cli;
  /** The command line as it was given. */
  readonly words: readonly string[];
  /** Told the exit code when a command has come to its end. */
  readonly finish: (exitCode: number) => void;
}

/** Makes the action of a command from a function that resolves with the exit code. */
export function actionOf<Options = unknown>(
  { cli, finish }: CommandTree,
  run: (call: Call<Options>) => Promise<number>,
): (...all: unknown[]) => Promise<void> {
  return async (...all) => {
    const command = all.at(-1) as Command;
    const flags = command.optsWithGlobals<GlobalFlags>();
    const settings = readSettings(flags, cli.environment);
    const options = command.opts() as Options;
    finish(await run({ settings, operands: command.args, options }));
  };
}

/** Opens the store for one task and closes it whatever becomes of the task. */
export async function withSpace<Value>(
  cli: Cli,
  settings: Settings,
  task: (space: Space) => Promise<Value>,
): Promise<Value> {
  await using space = await cli.openSpace(settings);
  return await task(space);
}
