import { describe, expect, test } from "vitest";

import { recordResource } from "./record-resource.ts";

describe("appends under a lock whose holders are stopped longer than their lease", () => {
  const bounds = { processes: 3, stops: 2 } as const;

  test.concurrent("a fence at the resource loses no append and refuses the late ones", async () => {
    const report = await recordResource({ ...bounds, guard: "mark" });
    expect(report).toMatchObject({ lost: 0, isInOrder: true, stops: bounds.stops });
    expect(report.refused).toBeGreaterThan(0);
    expect(report.written).toBeGreaterThan(bounds.stops);
  });

  test.concurrent("without a fence the same stops do lose appends, or they would show nothing", async () => {
    const report = await recordResource({ ...bounds, guard: "none" });
    expect(report.lost).toBeGreaterThan(0);
  });
});
