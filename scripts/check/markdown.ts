/** A fenced block of a Markdown page. */
export interface Fence {
  readonly path: string;
  /** Of the opening fence, from 1. */
  readonly line: number;
  /** First word of the info string, such as `ts`. */
  readonly language: string;
  /** The other words: `run`, `exit=7`, `norun: why`. */
  readonly words: readonly string[];
  readonly text: string;
}

const FENCE = /^(\s*)(`{3,}|~{3,})\s*(.*)$/;

/** Reads the fenced blocks of a page in order. A block that is never closed ends with the page. */
export function fencesIn(path: string, page: string): readonly Fence[] {
  const fences: Fence[] = [];
  const lines = page.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const [, indent = "", mark, info = ""] = FENCE.exec(lines[at] ?? "") ?? [];
    if (mark === undefined) continue;
    const start = at + 1;
    const length = lines.slice(start).findIndex((line) => line.trim() === mark);
    const end = length === -1 ? lines.length : start + length;
    const [language = "", ...words] = info.split(/\s+/).filter((word) => word !== "");
    const body = lines.slice(start, end).map((line) => line.replace(indent, ""));
    fences.push({ path, line: start, language, words, text: `${body.join("\n")}\n` });
    at = end;
  }
  return fences;
}
