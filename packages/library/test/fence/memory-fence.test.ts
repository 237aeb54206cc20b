import { describe, expect, test } from "vitest";

import { MemoryFence } from "../../src/fence/index.ts";
import { rejection } from "../scenarios/settling.ts";
import { exclusive, fenced, permits, shared } from "./forms.ts";

const stale = expect.objectContaining({ code: "STALE_FENCE" });
const misuse = expect.objectContaining({ code: "INVALID_ARGUMENT" });

describe("a fence in memory", () => {
  test("raises marks by guard, by guarded work and by install [L67]", async () => {
    const fence = new MemoryFence();
    fence.guard(fenced(exclusive(2), shared(3, "m")));
    expect(fence.guarded(fenced(exclusive(4)), {}, () => "done")).toBe("done");
    expect(await fence.install(fenced(permits(5, [1], "pool")))).toEqual({ kind: "installed" });
    expect(fence.marks("default", "n")).toEqual({ markX: 4, markS: 0, slots: {} });
    expect(fence.marks("default", "m")).toEqual({ markX: 0, markS: 3, slots: {} });
    expect(fence.marks("default", "pool")).toEqual({ markX: 0, markS: 0, slots: { 1: 5 } });
    expect(fence.marks("other", "n").markX).toBe(0);
    expect(() => fence.guard(fenced(exclusive(3)))).toThrow(stale);
    expect(await fence.install(fenced(exclusive(3)))).toMatchObject({
      kind: "newer",
      marks: [{ lock: "n", markX: 4 }],
    });
  });

  test("work that throws, or goes on in a promise, raises no mark", () => {
    const fence = new MemoryFence();
    const failing = (): unknown =>
      fence.guarded(fenced(exclusive(5)), {}, () => {
        fence.guard(fenced(exclusive(6, "m")));
        throw new RangeError("no");
      });
    expect(failing).toThrow(RangeError);
    const promising = (): unknown =>
      fence.guarded(fenced(exclusive(5)), {}, () => Promise.resolve());
    expect(promising).toThrow(misuse);
    expect(fence.marks("default", "n").markX).toBe(0);
    expect(fence.marks("default", "m").markX).toBe(0);
  });

  test("guard inside guarded work sees its marks and stands with it", () => {
    const fence = new MemoryFence();
    fence.guarded(fenced(exclusive(5)), {}, () => {
      expect(() => fence.guard(fenced(exclusive(4)))).toThrow(stale);
      fence.guard(fenced(exclusive(6), exclusive(7, "m")));
    });
    expect(fence.marks("default", "n").markX).toBe(6);
    expect(fence.marks("default", "m").markX).toBe(7);
  });

  test("guarded work and installations do not begin inside of guarded work", async () => {
    const fence = new MemoryFence();
    let installing: Promise<unknown> = Promise.resolve();
    fence.guarded(fenced(exclusive(5)), {}, () => {
      expect(() => fence.guarded(fenced(exclusive(6)), {}, () => 1)).toThrow(misuse);
      installing = rejection(fence.install(fenced(exclusive(6))));
    });
    expect(await installing).toMatchObject({ code: "FENCE_INSTALL_FAILED", cause: misuse });
    expect(fence.marks("default", "n").markX).toBe(5);
  });
});
