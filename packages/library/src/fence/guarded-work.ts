import { InvalidArgumentError } from "../errors.ts";

/**
 * Guarded work is done in one go, because whatever it wrote after a pause would be written outside
 * of the transaction that its token was compared in. These two checks keep asynchronous work out:
 * before it has begun if it can be told, or else before it is committed.
 */

const rule = "must do its work at once, without async and await";

/** Refuses what is no function, and functions that are declared `async`. */
export function checkWork(work: unknown): void {
  if (typeof work !== "function") {
    throw new InvalidArgumentError("work", work, "must be a function");
  }
  const kind = (work as { readonly constructor?: { readonly name?: unknown } }).constructor;
  if (kind?.name === "AsyncFunction") throw new InvalidArgumentError("work", work, rule);
}

/** Refuses the promise of work that goes on after it has returned. */
export function checkDone(result: unknown): void {
  const isObject = typeof result === "object" && result !== null;
  if (!isObject || typeof (result as { then?: unknown }).then !== "function") return;
  throw new InvalidArgumentError("work", result, rule);
}
