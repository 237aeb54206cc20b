import { encodeKey, encodePrefix } from "../core/key.ts";
import type { RecordKey } from "../core/key.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { PageRequest } from "./contract.ts";

/** Most records of one page. */
const pageLimitMax = 1000;

/** The stored keys of one page: `after < key`, `from <= key`, and `key < before`. */
export interface KeyRange {
  readonly from: string;
  readonly after: string;
  /** Absent when every key from `from` on belongs to the listing. */
  readonly before: string | undefined;
  readonly limit: number;
}

/** The range of stored keys that a listing asks for. */
export function keyRange(prefix: RecordKey, page: PageRequest): KeyRange {
  const { limit } = page;
  if (!Number.isInteger(limit) || limit < 1 || limit > pageLimitMax) {
    throw new InvalidArgumentError("limit", limit, `must be an integer from 1 to ${pageLimitMax}`);
  }
  const partial = page.partial ?? "";
  const from = prefix.length === 0 ? encodeKey([partial]) : encodePrefix(prefix, partial);
  return { from, after: page.after ?? "", before: textAfterPrefix(from), limit };
}

/** The least text that is greater, by code points, than every text that begins with `prefix`. */
function textAfterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) as number;
    if (point === 0x10ffff) continue;
    const next = point + 1 === 0xd800 ? 0xe000 : point + 1;
    return points.join("") + String.fromCodePoint(next);
  }
  return undefined;
}

/**
 * Compares two stored keys by code points, which is the order of their UTF-8 bytes and so of every
 * store; the order of JavaScript differs where surrogates meet U+E000 to U+FFFF.
 */
export function compareStoredKeys(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let i = 0; i < length; i += 1) {
    const a = left.charCodeAt(i);
    const b = right.charCodeAt(i);
    if (a !== b) return isSurrogate(a) === isSurrogate(b) ? a - b : isSurrogate(a) ? 1 : -1;
  }
  return left.length - right.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
