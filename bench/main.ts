import { parseArgs } from "node:util";

import { handover } from "./handover.ts";
import { held } from "./held.ts";
import { queue } from "./queue.ts";
import type { Result } from "./result.ts";
import { uncontended } from "./uncontended.ts";

/**
 * Side by side with peers, in one interleaved run. Only ratios of one run mean anything.
 *
 *     npm run bench -- sqlite [--json] [--only CASES] [--rounds N] [--ms N]
 *     npm run bench -- held [--leases N] [--waiters N]
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    only: { type: "string", default: "uncontended,handover,queue" },
    rounds: { type: "string", default: "5" },
    ms: { type: "string", default: "700" },
    leases: { type: "string", default: "100000" },
    waiters: { type: "string", default: "10000" },
  },
});
const [engine = "sqlite"] = positionals;
const rounds = Number(values.rounds);
const ms = Number(values.ms);

async function sqlite(): Promise<readonly Result[]> {
  const results: Result[] = [];
  const run = async (part: Promise<readonly Result[]>): Promise<void> => {
    for (const result of await part) {
      results.push(result);
      if (!values.json) process.stdout.write(`${JSON.stringify(result)}\n`);
    }
  };
  const only = values.only.split(",");
  if (only.includes("uncontended")) await run(uncontended(rounds, ms));
  if (only.includes("handover")) await run(handover(Math.max(1, rounds - 2), 2 * ms));
  if (only.includes("queue")) {
    await run(queue(100, rounds));
    await run(queue(10_000, Math.max(1, Math.ceil(rounds / 3))));
  }
  return results;
}

if (engine === "sqlite") {
  const results = await sqlite();
  process.stdout.write(`${JSON.stringify({ engine, results })}\n`);
} else if (engine === "held") {
  const report = await held(Number(values.leases), Number(values.waiters));
  process.stdout.write(`${JSON.stringify(report)}\n`);
} else {
  process.stderr.write(`bench: unknown engine ${engine}; known are sqlite and held\n`);
  process.exitCode = 64;
}
