import { parseArgs } from "node:util";

import { recordHistory } from "./record-history.ts";

/**
 * Long histories: `node --conditions=leasehold-src packages/library/test/history/run.ts`
 * `[--rounds N] [--processes N] [--seconds N]`. One line of JSON a round.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    processes: { type: "string", default: "6" },
    seconds: { type: "string", default: "60" },
  },
});
for (let seed = 1; seed <= Number(values.rounds); seed += 1) {
  const processes = Number(values.processes);
  const report = await recordHistory({ processes, seconds: Number(values.seconds), seed });
  process.stdout.write(`${JSON.stringify({ seed, ...report })}\n`);
  if (report.breaks.length + report.unhandled.length > 0) process.exitCode = 1;
}
