import { utf8Bytes } from "../core/name.ts";
import type { Json } from "../core/scalars.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Guard } from "../fence/guard.ts";

/** Checks of plain values that come from callers; each names the parameter and the value (L6). */

/** An object of options with no member that the call does not know. */
export function checkKnown(
  parameter: string,
  options: unknown,
  names: readonly string[],
  call: string,
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new InvalidArgumentError(parameter, options, "must be an object of options");
  }
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue;
    const value = (options as Record<string, unknown>)[name];
    throw new InvalidArgumentError(name, value, `is not an option of ${call}`);
  }
}

/** A flag; absent means false. */
export function checkFlag(parameter: string, value: unknown): boolean {
  if (value === undefined) return false;
  if (typeof value === "boolean") return value;
  throw new InvalidArgumentError(parameter, value, "must be true or false");
}

export function checkOneOf<Choice extends string>(
  parameter: string,
  value: unknown,
  choices: readonly Choice[],
): Choice {
  if (choices.includes(value as Choice)) return value as Choice;
  const shown = choices.map((choice) => `"${choice}"`).join(" or ");
  throw new InvalidArgumentError(parameter, value, `must be ${shown}`);
}

/** An integer within bounds, cut down to what the engine can do. */
export function checkInteger(
  parameter: string,
  value: unknown,
  { least, most }: { readonly least: number; readonly most: number },
  capacity: number = most,
): number {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) {
    return Math.min(value as number, capacity);
  }
  throw new InvalidArgumentError(parameter, value, `must be an integer from ${least} to ${most}`);
}

/** The value, or its default when it is omitted; null is a value, and a wrong one. */
export function orDefault<Value>(value: Value | undefined, standard: Value): Value {
  return value === undefined ? standard : value;
}

/** A value that JSON can hold, of at most so many bytes as text; a copy of it. */
export function checkJson(parameter: string, value: unknown, bytesMax: number): Json {
  const text = textOf(value);
  if (text === undefined || utf8Bytes(text) > bytesMax) {
    const rule = `must be a JSON value of at most ${bytesMax} bytes`;
    throw new InvalidArgumentError(parameter, value, rule);
  }
  return JSON.parse(text) as Json;
}

/** JSON drops functions, symbols and undefined in silence; here they make a wrong value. */
function textOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, refuseLosses);
  } catch {
    return undefined;
  }
}

function refuseLosses(_key: string, each: unknown): unknown {
  const kind = typeof each;
  const isNoNumber = kind === "number" && !Number.isFinite(each);
  if (isNoNumber || kind === "function" || kind === "symbol" || each === undefined) {
    throw new TypeError("JSON cannot hold this");
  }
  return each;
}

export function checkSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value;
  throw new InvalidArgumentError("signal", value, "must be an AbortSignal");
}

/** A guard at which the marks of a lease are raised; absent means none. */
export function checkGuard(value: unknown): Guard | undefined {
  const isGuard =
    typeof value === "object" &&
    value !== null &&
    typeof (value as Partial<Guard>).install === "function";
  if (value === undefined || isGuard) return value as Guard | undefined;
  throw new InvalidArgumentError("fenceOn", value, "must be a guard of leasehold/fence");
}

export function checkFunction<Shape>(
  parameter: string,
  value: Shape | undefined,
): Shape | undefined {
  if (value === undefined || typeof value === "function") return value;
  throw new InvalidArgumentError(parameter, value, "must be a function");
}
