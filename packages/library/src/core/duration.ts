import { InvalidArgumentError } from "../errors.ts";
import type { DurationMs } from "./scalars.ts";

/**
 * Integer milliseconds, or a number and its unit such as `"250ms"`, `"1.5s"`, `"5m"`, `"2h"`,
 * `"7d"`.
 */
export type Duration = number | string;

const unitMs: Readonly<Record<string, number>> = Object.freeze({
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
});
const shape = /^(-?\d+(?:\.\d+)?)(ms|s|m|h|d)$/u;
const rule =
  'must be a number of milliseconds or a string such as "250ms", "30s", "5m", "2h", "7d"';

/**
 * Reads a duration; fractions round up to the next millisecond (L3).
 *
 * Returns an integer, or `Infinity` where `allowsEndless`. Anything else is refused with
 * `INVALID_ARGUMENT` by parameter name and value.
 */
export function parseDuration(
  parameter: string,
  value: unknown,
  { allowsEndless = false }: { readonly allowsEndless?: boolean } = {},
): DurationMs {
  if (typeof value === "number") {
    if (value === Infinity && allowsEndless) return value;
    if (Number.isFinite(value)) return roundUp(value);
  } else if (typeof value === "string") {
    const match = shape.exec(value);
    if (match !== null) {
      return roundUp(withoutNoise(Number(match[1]) * (unitMs[match[2] as string] as number)));
    }
  }
  throw new InvalidArgumentError(parameter, value, rule);
}

function roundUp(ms: number): number {
  // Adding zero turns a negative zero into a plain one.
  return Math.ceil(ms) + 0;
}

/** 1.1 s is 1100 ms, although 1.1 * 1000 is a little more in binary. */
function withoutNoise(ms: number): number {
  const nearest = Math.round(ms);
  return nearest > 0 && Math.abs(ms - nearest) < nearest * 1e-12 ? nearest : ms;
}
