import { historySettings, type CallLine, type HistoryLine } from "./history-line.ts";
import type { RecordedCall } from "./recorded-call.ts";

/** What one process wrote down, and when it was seen to have ended. */
export interface ProcessLog {
  readonly process: number;
  readonly lines: readonly HistoryLine[];
  readonly endedMs: number;
}

const { leaseMs, waitMs, presenceMs, confirmMs } = historySettings;
/** A wait that ends later than this ended without an answer of the store (L26). */
const finalMs = 900;
/** How long the ticket or grant of a dead process can keep others out, and a second to spare. */
const deadMs = presenceMs + Math.max(leaseMs, confirmMs) + 1_000;
/** How long an attempt that was given up while its process lives can do so. */
const givenUpMs = 10_000;

type EndLine = Extract<HistoryLine, { readonly kind: "ok" | "fail" | "unknown" }>;

/** Puts beginnings and ends together; a call of which no end was written is unknown. */
export function callsOf(logs: readonly ProcessLog[]): readonly RecordedCall[] {
  return logs.flatMap(({ process, lines, endedMs }) => {
    const ends = new Map(lines.filter(isEnd).map((line) => [line.id, line]));
    return lines
      .filter((line): line is CallLine => line.kind === "call")
      .flatMap((line) => callOf(line, ends.get(line.id), { process, endedMs }));
  });
}

function isEnd(line: HistoryLine): line is EndLine {
  return line.kind === "ok" || line.kind === "fail" || line.kind === "unknown";
}

function callOf(
  line: CallLine,
  end: EndLine | undefined,
  { process, endedMs }: { readonly process: number; readonly endedMs: number },
): readonly RecordedCall[] {
  const { name, atMs: calledMs } = line;
  // What is unknown never returned: it may still happen later.
  const isUnknown = end === undefined || end.kind === "unknown";
  const returnedMs = isUnknown ? Infinity : end.atMs;
  const timed = { client: `${process}/${line.client}`, name, calledMs, returnedMs };
  const answer = isUnknown ? "unknown" : end.kind;
  switch (line.do) {
    case "acquire": {
      const { mode, waits } = line;
      const asked = { ...timed, do: "acquire", mode, waits } as const;
      // Refused before anything was stored.
      if (end?.kind === "unknown" && end.code === "QUEUE_FULL") return [];
      if (end?.kind === "ok" && end.token !== undefined) {
        return [{ ...asked, leaseMs, answer: "ok", token: end.token }];
      }
      const isLate = waits && returnedMs > calledMs + waitMs + finalMs;
      if (end?.kind === "fail" && !isLate) return [{ ...asked, answer: "fail" }];
      const standsUntilMs = end === undefined ? endedMs + deadMs : end.atMs + givenUpMs;
      return [{ ...asked, returnedMs: Infinity, answer: "unknown", standsUntilMs }];
    }
    case "renew":
      return [{ ...timed, do: "renew", token: line.token, leaseMs, answer }];
    case "release": {
      const wasLost = returnedMs >= calledMs + line.remainingMs;
      return [{ ...timed, do: "release", token: line.token, wasLost, answer }];
    }
    case "force":
      if (end?.kind === "ok")
        return [{ ...timed, do: "force", answer: "ok", ended: end.ended ?? [] }];
      return [{ ...timed, do: "force", answer: "unknown" }];
  }
}
