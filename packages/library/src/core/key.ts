import type { Json } from "./scalars.ts";

/** The address of a record: a tuple of strings such as `["lock", "default", "nightly"]`. */
export type RecordKey = readonly string[];

/**
 * The stored form of a key: its parts, escaped and joined by `/`.
 *
 * `~` becomes `~0` and `/` becomes `~1` inside a part, so no two tuples share a stored form, and
 * the stored forms of all keys that begin with the same parts begin with the same text.
 */
export function encodeKey(key: RecordKey): string {
  let text = "";
  for (let i = 0; i < key.length; i += 1) {
    const part = key[i] as string;
    text += i === 0 ? escapePart(part) : `/${escapePart(part)}`;
  }
  return text;
}

/** The tuple whose stored form is `text`; the inverse of {@link encodeKey}. */
export function decodeKey(text: string): RecordKey {
  return text.split("/").map(unescapePart);
}

/**
 * The stored text with which the keys of a listing begin.
 *
 * `parts` are complete; `partial` is the beginning of the next part, `""` for all of them.
 */
export function encodePrefix(parts: RecordKey, partial: string): string {
  return parts.length === 0 ? escapePart(partial) : `${encodeKey(parts)}/${escapePart(partial)}`;
}

/** A number as 16 digits, so that the order of the texts is the order of the numbers. */
export function orderedNumber(value: number): string {
  return String(value).padStart(16, "0");
}

function escapePart(part: string): string {
  if (!part.includes("/") && !part.includes("~")) return part;
  return part.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescapePart(part: string): string {
  return part.includes("~") ? part.replaceAll("~1", "/").replaceAll("~0", "~") : part;
}

/** Whether a value is a JSON object: neither null nor an array nor a scalar. */
export function isJsonObject(value: unknown): value is { readonly [member: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
