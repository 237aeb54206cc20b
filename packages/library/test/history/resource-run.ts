import { parseArgs } from "node:util";

import { reportRun } from "../results/run-result.ts";
import { recordResource, type ResourceReport } from "./record-resource.ts";

/**
 * Appends with and without a fence, under many stops:
 *
 *     node --conditions=leasehold-src packages/library/test/history/resource-run.ts
 *         [--processes 4] [--stops 20]
 */
const { values } = parseArgs({
  options: {
    processes: { type: "string", default: "4" },
    stops: { type: "string", default: "20" },
  },
});
const bounds = { processes: Number(values.processes), stops: Number(values.stops) };
const reports: ResourceReport[] = [];
for (const guard of ["mark", "none"] as const) {
  reports.push(await recordResource({ ...bounds, guard }));
}
reportRun({
  run: "resource",
  failures: reports.flatMap(({ guard, lost }) => {
    if (guard === "mark") return lost === 0 ? [] : [`${lost} appends were lost behind the fence`];
    return lost > 0 ? [] : ["no append was lost without the fence, so the stops show nothing"];
  }),
  tables: [
    {
      name: "appends",
      rows: reports.map(({ guard, stops, written, refused, lost }) => {
        const fence = guard === "mark" ? "yes" : "no";
        return { fence, stops, acknowledged: written, refused, lost };
      }),
    },
  ],
});
