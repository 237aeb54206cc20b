import { InvalidArgumentError } from "../errors.ts";

/** Most bytes of UTF-8 of a name. */
const nameBytesMax = 1024;
/** Most bytes of UTF-8 of an owner id. */
export const ownerBytesMax = 256;
/** Most bytes of UTF-8 of a note or a reason. */
const noteBytesMax = 1024;

/** The C0 controls, DEL and the C1 controls. */
const control = /\p{Cc}/u;

/** A well-formed string of 1 to 1024 UTF-8 bytes without control characters (L1). */
export function checkName(parameter: string, value: unknown, position?: number): string {
  return checkText(parameter, value, { bytesMax: nameBytesMax, position });
}

/** 1 to 256 bytes without control characters. */
export function checkOwner(parameter: string, value: unknown): string {
  return checkText(parameter, value, { bytesMax: ownerBytesMax });
}

interface TextRule {
  readonly bytesMax: number;
  readonly position?: number | undefined;
}

function checkText(parameter: string, value: unknown, { bytesMax, position }: TextRule): string {
  const more = position === undefined ? {} : { position };
  if (typeof value !== "string" || value.length === 0 || !value.isWellFormed()) {
    throw new InvalidArgumentError(
      parameter,
      value,
      "must be a non-empty well-formed string",
      more,
    );
  }
  if (control.test(value)) {
    throw new InvalidArgumentError(parameter, value, "must hold no control characters", more);
  }
  if (utf8Bytes(value) > bytesMax) {
    const rule = `must have at most ${bytesMax} bytes of UTF-8`;
    throw new InvalidArgumentError(parameter, value, rule, { ...more, limit: bytesMax });
  }
  return value;
}

/** A note or reason: a well-formed string of at most 1024 bytes; line breaks are allowed. */
export function checkNote(parameter: string, value: unknown, bytesMin: 0 | 1): string {
  const isText = typeof value === "string" && value.isWellFormed();
  if (isText && utf8Bytes(value) >= bytesMin && utf8Bytes(value) <= noteBytesMax) return value;
  const rule = `must be a well-formed string of ${bytesMin} to ${noteBytesMax} bytes of UTF-8`;
  throw new InvalidArgumentError(parameter, value, rule, { limit: noteBytesMax });
}

/** The length of a well-formed string in UTF-8. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // Both halves of a surrogate pair together make four bytes: two each.
    bytes += unit < 0x800 || (unit >= 0xd8_00 && unit <= 0xdf_ff) ? 1 : 2;
  }
  return bytes;
}
