import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";

import type { DurationMs } from "../../core/scalars.ts";
import type { KeyRange } from "../../engine/key-range.ts";
import { spinWhile } from "../../time/block.ts";
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

/** Longest time that the caller's thread waits on the spot for the answer to a lone call. */
const spinMsMax = 0.4;
/** After an answer that did not come in that time so many lone calls do without, ... */
const callsWithoutSpin = 4;
/** ... and twice as many after each further one, up to this. */
const callsWithoutSpinMax = 1024;

interface Waiting {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: unknown) => void;
}

type Asked = HostRequest extends infer One
  ? One extends HostRequest
    ? Omit<One, "id">
    : never
  : never;

/** A running worker: the port to it, and the cells that count requests and replies. */
interface Running {
  readonly worker: Worker;
  readonly port: MessagePort;
  readonly requests: Int32Array;
  readonly replies: Int32Array;
}

/**
 * The host in a worker thread: a slow flush stalls nobody's event loop.
 *
 * The worker keeps the process alive only while an answer is awaited. When it dies, what was under
 * way is unknown, and the next request starts another one.
 *
 * On a quick disk the waking of two sleeping threads takes longer than a commit. So a call that
 * travels alone is waited for on the spot, shortly; a store that is slower than that is not waited
 * for again for a good while.
 */
export class WorkerLink implements HostLink {
  readonly #options: HostOptions;
  readonly #waiting = new Map<number, Waiting>();
  #running: Running | undefined;
  #serial = 0;
  #withoutSpin = 0;
  #nextWithoutSpin = callsWithoutSpin;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  open(patienceMs: DurationMs): Promise<Opened> {
    return this.#ask({ kind: "open", patienceMs });
  }

  commit(request: CommitRequest): CommitAnswer | Promise<CommitAnswer> {
    const { generation, patienceMs, units, bells } = request;
    const flat = flattenUnits(units);
    const isLone = units.length === 1;
    const asked = { kind: "commit", generation, patienceMs, units: flat, bells, isLone } as const;
    if (isLone && this.#waiting.size === 0) return this.#askOnTheSpot(asked);
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

  #askOnTheSpot(asked: Asked): CommitAnswer | Promise<CommitAnswer> {
    const running = this.#running;
    if (running === undefined) return this.#ask(asked);
    if (this.#withoutSpin > 0) {
      this.#withoutSpin -= 1;
      return this.#ask(asked);
    }
    const before = Atomics.load(running.replies, 0);
    const id = this.#send(running, asked);
    const isAnswered = spinWhile(running.replies, before, spinMsMax);
    const received = isAnswered ? receiveMessageOnPort(running.port) : undefined;
    if (received === undefined) {
      this.#withoutSpin = this.#nextWithoutSpin;
      this.#nextWithoutSpin = Math.min(callsWithoutSpinMax, 2 * this.#nextWithoutSpin);
      return this.#await(running, id);
    }
    this.#nextWithoutSpin = callsWithoutSpin;
    const { answer, failure } = received.message as HostReply;
    if (failure !== undefined) throw new SqliteFailureError(failure);
    return answer as CommitAnswer;
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
    const replies = new Int32Array(new SharedArrayBuffer(4));
    const start: WorkerStart = { host: this.#options, port: port2, requests, replies };
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
    return { worker, port: port1, requests, replies };
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
