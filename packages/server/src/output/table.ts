import { widthOf } from "./printable.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

const gap = "  ";

/**
 * Lays rows out under their titles; the last column is never padded.
 *
 * `rows` hold plain text only: colours would count as characters. `paintTitle` colours the line of
 * titles as a whole.
 */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  paintTitle: (line: string) => string,
): readonly string[] {
  const titles = columns.map((column) => column.title);
  const widths = columns.map((_column, at) =>
    Math.max(...[titles, ...rows].map((row) => widthOf(row[at] ?? ""))),
  );
  const layOut = (row: readonly string[]): string =>
    columns
      .map(({ align }, at) => {
        const text = row[at] ?? "";
        const fill = " ".repeat((widths[at] ?? 0) - widthOf(text));
        if (align === "right") return fill + text;
        return at === columns.length - 1 ? text : text + fill;
      })
      .join(gap)
      .trimEnd();
  return [paintTitle(layOut(titles)), ...rows.map(layOut)];
}

/** Lays out facts, one a line, with their labels in a column of their own. */
export function formatFacts(facts: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...facts.map(([label]) => widthOf(label)));
  return facts.map(([label, value]) =>
    `  ${label}${" ".repeat(width - widthOf(label))}${gap}${value}`.trimEnd(),
  );
}
