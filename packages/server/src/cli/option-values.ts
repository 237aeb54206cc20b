import { InvalidArgumentError as CommanderRefusal, Option } from "commander";
import { InvalidArgumentError, parseDuration } from "leasehold";

/** How durations are written, for help texts. */
export const durationForms = '"250ms", "30s", "5m", "2h" or "7d"';

interface DurationRule {
  readonly mostMs: number;
  readonly most: string;
}

/** Reads a length of time from 0 up to a limit, in milliseconds. */
export function durationValue({ mostMs, most }: DurationRule): (text: string) => number {
  return (text) => {
    const ms = readDuration(text);
    if (ms >= 0 && ms <= mostMs) return ms;
    throw new CommanderRefusal(`It must be from 0 to ${most}.`);
  };
}

/** Reads how long to wait; `forever` has no end. */
export function waitValue(text: string): number {
  if (text === "forever") return Infinity;
  const ms = readDuration(text);
  if (ms >= 0 && Number.isSafeInteger(ms)) return ms;
  throw new CommanderRefusal("It must not be negative.");
}

/** A duration that the library bounds itself; only its form is checked here. */
export function anyDurationValue(text: string): string {
  readDuration(text);
  return text;
}

export function readDuration(text: string): number {
  try {
    return parseDuration("duration", text);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new CommanderRefusal(`It must be a duration such as ${durationForms}.`);
  }
}

/** Reads a whole number within bounds. */
export function integerValue(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new CommanderRefusal(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** An option that takes one of a few words. */
export function choiceOption(flags: string, text: string, choices: readonly string[]): Option {
  return new Option(flags, text).choices(choices);
}
