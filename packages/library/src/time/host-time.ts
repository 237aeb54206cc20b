import { readFileSync } from "node:fs";

import type { EpochMs, MonotonicMs } from "../core/scalars.ts";
import { systemClock } from "./system-clock.ts";

/** What all processes of one boot of the host agree on. */
export interface HostTime {
  /** Names this boot; absent where the system has no such name. */
  readonly bootId: string | undefined;
  /** The host's monotonic clock, alike in every process of this boot. */
  monotonicMs(): MonotonicMs;
  /** The calendar; read once a boot, when nobody has read it before. */
  wallMs(): EpochMs;
}

/**
 * Reads the name of the boot and how far this process's view of the monotonic clock is shifted.
 *
 * A container may run in a time namespace of its own, whose monotonic clock is the host's plus an
 * offset; the offset is taken off again, because others may share the store.
 */
export function readHostTime(): HostTime {
  const bootId = readText("/proc/sys/kernel/random/boot_id")?.trim();
  const shiftMs = readShiftMs(readText("/proc/self/timens_offsets"));
  const monotonicMs = (): MonotonicMs => systemClock.monotonicMs() - shiftMs;
  return { bootId, monotonicMs, wallMs: () => systemClock.wallMs() };
}

function readShiftMs(offsets: string | undefined): number {
  const found = offsets?.match(/^monotonic\s+(-?\d+)\s+(\d+)/m);
  return found === null || found === undefined
    ? 0
    : Number(found[1]) * 1e3 + Number(found[2]) / 1e6;
}

/** These files exist on Linux only; their absence is an answer, not a failure. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
