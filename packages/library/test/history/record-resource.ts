import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { RecordedProcess } from "./recorded-process.ts";
import { Resource, withoutGuard, type Entry } from "./resource.ts";
import type { ResourceNews } from "./resource-child.ts";

export interface ResourceOptions {
  readonly processes: number;
  /** How often a holder is stopped between its read and its write, longer than its lease. */
  readonly stops: number;
  readonly guard: "mark" | "none";
}

export interface ResourceReport {
  readonly guard: "mark" | "none";
  readonly stops: number;
  /** Appends that were acknowledged, and those among them that are not in the list. */
  readonly written: number;
  readonly lost: number;
  readonly refused: number;
  /** Whether the tokens of the list rise from its beginning to its end. */
  readonly isInOrder: boolean;
}

const program = new URL("resource-child.ts", import.meta.url);
/** Longer than the lease, so that another one holds and writes before the stopped one goes on. */
const stopMs = 2_500;
/** Appends between two stops. */
const appendsPerStop = 5;

/**
 * Processes that append to one list under one lock, some of them stopped while they hold it: what
 * they were told was written is compared with what the list has in the end.
 */
export async function recordResource(options: ResourceOptions): Promise<ResourceReport> {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-resource-"));
  const list = join(folder, "list.db");
  const words = [`sqlite:${join(folder, "store.db")}`, list, options.guard];
  const running: RecordedProcess[] = [];
  // Made before the processes open it, so that they do not all make it at once.
  using resource = new Resource(list, withoutGuard);
  try {
    const counts = { written: 0, refused: 0, stops: 0, sinceStop: 0 };
    const done = Promise.withResolvers<undefined>();
    for (let place = 0; place < options.processes; place += 1) {
      const started = new RecordedProcess({
        program,
        words: [...words, String(place)],
      });
      running.push(started);
      started.onNews((news) => {
        hear(news as ResourceNews, started, counts, options.stops);
        const isEnough = counts.stops >= options.stops && counts.sinceStop > appendsPerStop;
        if (isEnough) done.resolve(undefined);
      });
    }
    await Promise.race([done.promise, ...running.map((each) => each.ended)]);
    // Whoever was stopped last goes on, and writes, before all are told to end.
    await new Promise((resume) => setTimeout(resume, stopMs));
    for (const each of running) each.tell("end");
    await Promise.all(running.map((each) => each.ended));
    return reportOf(options.guard, counts, resource.read());
  } finally {
    for (const each of running) each.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Counts {
  written: number;
  refused: number;
  stops: number;
  sinceStop: number;
}

function hear(news: ResourceNews, from: RecordedProcess, counts: Counts, stopsMax: number): void {
  if (news === "written") counts.written += 1;
  if (news === "refused") counts.refused += 1;
  if (news !== "reading") return;
  counts.sinceStop += 1;
  if (counts.stops < stopsMax && counts.sinceStop > appendsPerStop) {
    counts.stops += 1;
    counts.sinceStop = 0;
    // The stop is in force before the word to go on can be read.
    from.stop(stopMs);
  }
  from.tell("go");
}

function reportOf(
  guard: ResourceOptions["guard"],
  { written, refused, stops }: Counts,
  entries: readonly Entry[],
): ResourceReport {
  const tokens = entries.map(({ token }) => token);
  const isInOrder = tokens.every((token, at) => at === 0 || token > (tokens[at - 1] ?? 0));
  return { guard, stops, written, lost: written - entries.length, refused, isInOrder };
}
