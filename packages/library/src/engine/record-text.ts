import type { Json } from "../core/scalars.ts";

/** The stored text of a record. */
export function recordToText(value: Json): string {
  return JSON.stringify(value);
}

/**
 * The record that a stored text holds.
 *
 * Text that is no JSON was written by somebody else; the decision gets it as a string, and refuses
 * it as it refuses every record that it cannot read (L118).
 */
export function recordFromText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/**
 * Whether a text takes more than `bytesMax` bytes as UTF-8; most texts are told by their length.
 */
export function exceedsBytes(text: string, bytesMax: number): boolean {
  if (text.length * 3 <= bytesMax) return false;
  return text.length > bytesMax || Buffer.byteLength(text) > bytesMax;
}
