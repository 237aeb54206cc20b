import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

import type { AcquireOptions, TryOptions } from "../../src/lock/request-api.ts";
import type { SpaceOptions } from "../../src/lock/space-api.ts";

export type Order = { readonly id: number } & (
  | { readonly do: "open"; readonly url: string; readonly options: SpaceOptions }
  | { readonly do: "acquire"; readonly name: string; readonly options: AcquireOptions }
  | { readonly do: "try"; readonly name: string; readonly options: TryOptions }
  | { readonly do: "claim"; readonly name: string; readonly owner: string }
  | { readonly do: "release" | "state"; readonly token: number }
  | { readonly do: "status"; readonly name: string }
  | { readonly do: "race"; readonly name: string; readonly rounds: number }
  | { readonly do: "block"; readonly ms: number }
  | { readonly do: "close" }
);

export interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly code?: string;
  /** The host's monotonic clock when it was done. */
  readonly atMs: number;
}

type Wish = Order extends infer One ? (One extends Order ? Omit<One, "id"> : never) : never;

const child = fileURLToPath(new URL("puppet-child.ts", import.meta.url));

/** The host's monotonic clock, as the puppets read it. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A real process with a space of its own, led by a test. */
export class Puppet implements Disposable {
  readonly process: ChildProcess;
  readonly unhandled: string[] = [];
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #serial = 0;

  private constructor(under: readonly string[], env: NodeJS.ProcessEnv) {
    // The built package: what users run, and quicker to start than the sources.
    const execArgv: string[] = [];
    const [execPath = process.execPath, ...before] = under;
    const own = under.length === 0 ? execArgv : [...before, process.execPath, ...execArgv];
    this.process = fork(child, [], { execPath, execArgv: own, env: { ...process.env, ...env } });
    this.process.on("message", (reply: Reply) => {
      if (reply.id === -1) this.unhandled.push(reply.code ?? "");
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
    });
  }

  /** Starts a process and opens its space; `under` is a command to run it under. */
  static async open(
    url: string,
    options: SpaceOptions = {},
    more: { readonly under?: readonly string[]; readonly env?: NodeJS.ProcessEnv } = {},
  ): Promise<Puppet> {
    const puppet = new Puppet(more.under ?? [], more.env ?? {});
    const { code } = await puppet.ask({ do: "open", url, options });
    if (code !== undefined) throw new Error(`a puppet could not open its space: ${code}`);
    return puppet;
  }

  /** Orders something and gives its outcome, whenever it comes. */
  ask(wish: Wish): Promise<Reply> {
    this.#serial += 1;
    const id = this.#serial;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.process.send({ ...wish, id });
    });
  }

  async acquire(name: string, options: AcquireOptions = {}): Promise<Reply> {
    return this.ask({ do: "acquire", name, options });
  }

  kill(): void {
    this.process.kill("SIGKILL");
  }

  [Symbol.dispose](): void {
    this.process.kill("SIGKILL");
  }
}
