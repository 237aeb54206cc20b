/** Everything that moves the cursor, hides text or turns its direction round. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** What joins the parts of one emoji is harmless. */
const joiner = "\u200d";

/**
 * A text of somebody else's as it may stand on a terminal: control characters and marks that
 * change the direction of writing become visible, so that a note cannot forge a line of output.
 */
export function printable(text: string): string {
  return text.replaceAll(unprintable, (found) => {
    if (found === "\n") return "\\n";
    if (found === joiner) return found;
    return `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const emoji = /\p{Emoji_Presentation}|\ufe0f/u;
const wideScript = /[\p{scx=Han}\p{scx=Hang}\p{scx=Hira}\p{scx=Kana}\uff01-\uff60]/u;

function widthOfSegment(segment: string): number {
  return emoji.test(segment) || wideScript.test(segment) ? 2 : 1;
}

/** How many columns of a terminal a printable text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += widthOfSegment(segment);
  return width;
}

/** The text, cut to a number of columns, with a mark where something was cut. */
export function clipToWidth(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let clipped = "";
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    width += widthOfSegment(segment);
    if (width > columns - 1) break;
    clipped += segment;
  }
  return `${clipped}…`;
}
