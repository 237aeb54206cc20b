import { hostname } from "node:os";

import type { Capabilities, Engine } from "./engine/contract.ts";
import { createMemoryStore, memoryCapabilities, openMemory } from "./engines/memory/index.ts";
import { openSqlite, sqliteCapabilities } from "./engines/sqlite/index.ts";
import { InvalidArgumentError } from "./errors.ts";
import { checkFlag, checkKnown, checkOneOf, orDefault } from "./lock/argument-checks.ts";
import { openSpace } from "./lock/open-space.ts";
import { optionNames, parseSpaceOptions } from "./lock/space-config.ts";
import type { Space, SpaceOptions } from "./lock/space-api.ts";
import type { Clock, Entropy } from "./time/clock.ts";
import { systemClock } from "./time/system-clock.ts";
import { createSystemEntropy } from "./time/system-entropy.ts";

/** The options of {@link open}: those of the space, and how its engine is run. */
export interface OpenOptions extends SpaceOptions {
  /**
   * SQLite: `"worker"` (default) keeps flushes off the caller's thread; `"caller"` starts quicker.
   */
  readonly thread?: "worker" | "caller" | undefined;
  /** SQLite: make the folder of the file when it is missing. Default false. */
  readonly createFolder?: boolean | undefined;
}

interface EngineChoice {
  readonly capabilities: Capabilities;
  open(): Promise<Engine>;
}

const schemes = '"sqlite:PATH" or "memory:"';

/**
 * Opens a space on the store that a URL names; closing the space closes the store.
 *
 *     await using space = await open("sqlite:leasehold.db");
 *     await using lease = await space.acquire("nightly");
 *
 * `sqlite:PATH` is a file of this host, shared by any number of its processes, made when absent.
 * `memory:` is a fresh store of this process. Rejects with `INVALID_ARGUMENT` before anything is
 * opened, and with `ENGINE_UNAVAILABLE` when the store cannot be had.
 */
export async function open(url: string, options: OpenOptions = {}): Promise<Space> {
  checkKnown("options", options, [...optionNames, "thread", "createFolder"], "open");
  const { thread, createFolder, ...spaceOptions } = options;
  const { clock, entropy } = timeAndChance(options);
  const place = checkOneOf("thread", orDefault(thread, "worker"), ["worker", "caller"]);
  const makesFolder = checkFlag("createFolder", createFolder);
  const choice = chooseEngine(url, { clock, entropy, thread: place, createFolder: makesFolder });
  parseSpaceOptions(spaceOptions, choice.capabilities);
  return openOn(await choice.open(), { ...spaceOptions, clock, entropy });
}

/**
 * Opens a space on an engine of one's own making, such as one on a shared memory store. The space
 * takes the engine over: closing the space closes it.
 */
export async function openOn(engine: Engine, options: SpaceOptions = {}): Promise<Space> {
  const host = { name: hostname(), pid: process.pid };
  try {
    checkKnown("options", options, optionNames, "openOn");
    const { clock, entropy } = timeAndChance(options);
    return await openSpace({ engine, clock, entropy, host }, options);
  } catch (error) {
    // The first error is the one to tell.
    await engine.close().catch(() => undefined);
    throw error;
  }
}

/** The clock and the entropy that were handed in, checked, or the system's. */
function timeAndChance(options: SpaceOptions): {
  readonly clock: Clock;
  readonly entropy: Entropy;
} {
  const clock = orDefault(options.clock, systemClock);
  checkMethods("clock", clock, ["wallMs", "monotonicMs", "timer", "yield"]);
  const entropy = orDefault(options.entropy, createSystemEntropy());
  checkMethods("entropy", entropy, ["id", "fraction"]);
  return { clock, entropy };
}

function checkMethods(parameter: string, value: unknown, methods: readonly string[]): void {
  const given = value as Record<string, unknown> | null;
  const isWhole =
    typeof value === "object" && methods.every((name) => typeof given?.[name] === "function");
  if (isWhole) return;
  throw new InvalidArgumentError(parameter, value, `must have the methods ${methods.join(", ")}`);
}

interface EngineParts {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly thread: "worker" | "caller";
  readonly createFolder: boolean;
}

function chooseEngine(url: unknown, parts: EngineParts): EngineChoice {
  if (typeof url !== "string" || !url.isWellFormed()) {
    throw new InvalidArgumentError("url", url, `must be a URL such as ${schemes}`);
  }
  const { clock } = parts;
  if (url === "memory:") {
    const openFresh = async (): Promise<Engine> => openMemory(createMemoryStore({ clock }));
    return { capabilities: memoryCapabilities, open: openFresh };
  }
  if (!url.startsWith("sqlite:")) {
    throw new InvalidArgumentError("url", url, `must begin with a known scheme: ${schemes}`);
  }
  const path = url.slice("sqlite:".length).replace(/^\/\//u, "");
  if (path === "") throw new InvalidArgumentError("url", url, "must name a file: sqlite:PATH");
  return { capabilities: sqliteCapabilities, open: () => openSqlite(path, parts) };
}
