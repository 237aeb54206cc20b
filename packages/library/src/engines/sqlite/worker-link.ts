import { MessageChannel, Worker } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";

import type { DurationMs } from "../../core/scalars.ts";
import type { KeyRange } from "../../engine/key-range.ts";
import { flattenUnits } from "./host-protocol.ts";
import type {
  CommitAnswer,
  CommitRequest,
  HostLink,
  HostOptions,
  HostReply,
  HostRequest,
  Opened,
  ScanAnswer,
  WorkerStart,
} from "./host-protocol.ts";
import { SqliteFailureError, storeFailure } from "./sqlite-failure.ts";

interface Waiting {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: unknown) => void;
}

type Asked = HostRequest extends infer One
  ? One extends HostRequest
    ? Omit<One, "id">
    : never
  : never;

/** A running worker: the port to it, and the cell that counts requests. */
interface Running {
  readonly worker: Worker;
  readonly port: MessagePort;
  readonly requests: Int32Array;
}

/**
 * The host in a worker thread: a slow flush stalls nobody's event loop.
 *
 * The worker keeps the process alive only while an answer is awaited. When it dies, what was under
 * way is unknown, and the next request starts another one.
 *
 * The caller's thread never waits on the spot, so at one caller on a quick disk the waking of two
 * threads costs about half as much as the commit itself. The worker looks for the request that
 * follows a lone one for a moment before it sleeps.
 */
export class WorkerLink implements HostLink {
  readonly #options: HostOptions;
  readonly #waiting = new Map<number, Waiting>();
  #running: Running | undefined;
  #serial = 0;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  open(patienceMs: DurationMs): Promise<Opened> {
    return this.#ask({ kind: "open", patienceMs });
  }

  commit(request: CommitRequest): Promise<CommitAnswer> {
    const { generation, patienceMs, units, bells } = request;
    const flat = flattenUnits(units);
    const isLone = units.length === 1;
    const asked = { kind: "commit", generation, patienceMs, units: flat, bells, isLone } as const;
    return this.#ask(asked);
  }

  scan(range: KeyRange, patienceMs: DurationMs): Promise<ScanAnswer> {
    return this.#ask({ kind: "scan", range, patienceMs });
  }

  dataVersion(): Promise<number> {
    return this.#ask({ kind: "version" });
  }

  async close(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    await this.#ask({ kind: "close" });
    this.#running = undefined;
    running.port.close();
    await running.worker.terminate();
  }

  #ask<Answer>(asked: Asked): Promise<Answer> {
    const running = (this.#running ??= this.#start());
    return this.#await(running, this.#send(running, asked));
  }

  #send({ port, requests }: Running, asked: Asked): number {
    const id = (this.#serial += 1);
    port.postMessage({ ...asked, id });
    Atomics.add(requests, 0, 1);
    return id;
  }

  #await<Answer>({ port }: Running, id: number): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      if (this.#waiting.size === 1) port.ref();
    });
  }

  #start(): Running {
    // Run from source the worker is a .ts file, built it is a .js file; so is this one.
    const ending = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const { port1, port2 } = new MessageChannel();
    const requests = new Int32Array(new SharedArrayBuffer(4));
    const start: WorkerStart = { host: this.#options, port: port2, requests };
    const worker = new Worker(new URL(`./host-worker.${ending}`, import.meta.url), {
      workerData: start,
      transferList: [port2],
      name: "leasehold-sqlite",
    });
    port1.on("message", (reply: HostReply) => this.#settle(port1, reply));
    port1.unref();
    worker.on("error", (error) => this.#lose(worker, error));
    worker.on("exit", () => this.#lose(worker, undefined));
    worker.unref();
    return { worker, port: port1, requests };
  }

  #settle(port: MessagePort, { id, answer, failure }: HostReply): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) port.unref();
    if (failure === undefined) waiting?.resolve(answer as never);
    else waiting?.reject(new SqliteFailureError(failure));
  }

  #lose(worker: Worker, cause: unknown): void {
    const running = this.#running;
    if (running?.worker !== worker) return;
    this.#running = undefined;
    running.port.close();
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    const why = cause instanceof Error ? `: ${cause.message}` : "";
    const error = storeFailure(`the thread of the store ended${why}`, {
      outcome: "unknown",
      isTransient: true,
    });
    for (const { reject } of lost) reject(error);
  }
}
