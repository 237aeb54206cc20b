import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";

import { usageFailure } from "./cli/failure.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Flags that every command takes. */
export interface GlobalFlags {
  readonly store?: string | undefined;
  readonly namespace?: string | undefined;
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
}

/** What a command works on and how it talks, from its flags and the environment. */
export interface Settings {
  /** URL of the store; a path in it is absolute, so that it means the same to the command run. */
  readonly storeUrl: string;
  /** The file of a store on this host; null for stores without one. */
  readonly storePath: string | null;
  /** True when nobody named a store: its folder is then made as needed. */
  readonly isDefaultStore: boolean;
  readonly namespace: string;
  readonly isJson: boolean;
  readonly isQuiet: boolean;
}

/** The schemes of store URLs, with what each is for. */
export const storeSchemes: Readonly<Record<string, string>> = Object.freeze({
  sqlite: "sqlite:PATH",
  memory: "memory:",
});

const namespaceDefault = "default";

/**
 * The folder of the default store: `$XDG_STATE_HOME/leasehold`, else `~/.local/state/leasehold`.
 */
function stateFolder(environment: Environment): string {
  const stateHome = environment["XDG_STATE_HOME"] ?? "";
  // The standard says that a relative path there is to be ignored.
  if (isAbsolute(stateHome)) return join(stateHome, "leasehold");
  const home = environment["HOME"] ?? "";
  return join(isAbsolute(home) ? home : homedir(), ".local", "state", "leasehold");
}

/**
 * Settles store and namespace: a flag wins over `LEASEHOLD_STORE` or `LEASEHOLD_NAMESPACE`, and
 * these over the default. Throws a usage failure for a URL that no engine serves.
 */
export function readSettings(flags: GlobalFlags, environment: Environment): Settings {
  const fromEnvironment = environment["LEASEHOLD_STORE"];
  const isSet = fromEnvironment !== undefined && fromEnvironment !== "";
  const source = flags.store === undefined && isSet ? "LEASEHOLD_STORE" : "--store";
  const given = flags.store ?? (isSet ? fromEnvironment : undefined);
  const url = given ?? `sqlite:${join(stateFolder(environment), "leasehold.db")}`;
  const storePath = checkStoreUrl(url, source);
  return {
    storeUrl: storePath === null ? url : `sqlite:${storePath}`,
    storePath,
    isDefaultStore: given === undefined,
    namespace: flags.namespace ?? (environment["LEASEHOLD_NAMESPACE"] || namespaceDefault),
    isJson: flags.json === true,
    isQuiet: flags.quiet === true,
  };
}

/** The absolute path of a SQLite store, or null for a store without a file. */
function checkStoreUrl(url: string, source: string): string | null {
  const known = Object.values(storeSchemes).join(" and ");
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase() ?? "";
  const shown = JSON.stringify(url);
  if (!Object.hasOwn(storeSchemes, scheme)) {
    throw usageFailure(`${source} must be the URL of a store, known are ${known}; got ${shown}`);
  }
  if (scheme !== "sqlite") return null;
  const path = url.slice("sqlite:".length).replace(/^\/\//, "");
  if (path === "" || path.includes("\0")) {
    throw usageFailure(`${source} must name a file, as in sqlite:PATH; got ${shown}`);
  }
  return resolve(path);
}

/** The folder that must exist for a store; null where there is none. */
export function folderOf({ storePath }: Settings): string | null {
  return storePath === null ? null : dirname(storePath);
}
