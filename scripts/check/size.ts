import { extname } from "node:path";
import ts from "typescript";
import type { Finding } from "./check.ts";
import { readText, repositoryFiles } from "./sources.ts";

const FILE_LINES_MAX = 400;
const LINE_LENGTH_MAX = 100;
const EXCUSE = "Longer than 400 lines because";
/** The line of a test's title, which carries the ids that the test proves and cannot be broken. */
const TITLE = /^\s*(?:test|scenario)\b.*?\(\s*["'`]|^\s*["'`].*["'`],$/u;
const CODE = new Set([".ts", ".js", ".mjs", ".sql", ".lua", ".css"]);

/** The text of the comments that stand before the first statement. */
function firstComment(text: string): string {
  const afterShebang = text.startsWith("#!") ? text.indexOf("\n") + 1 : 0;
  const ranges = ts.getLeadingCommentRanges(text, afterShebang) ?? [];
  return ranges.map((range) => text.slice(range.pos, range.end)).join("\n");
}

function problemsIn(path: string): readonly string[] {
  const text = readText(path);
  const lines = text.trimEnd().split("\n");
  const isTest = path.endsWith(".test.ts");
  const problems = lines.flatMap((line, index) =>
    line.length > LINE_LENGTH_MAX && !(isTest && TITLE.test(line))
      ? [`${path}:${index + 1} has ${line.length} characters, at most ${LINE_LENGTH_MAX}`]
      : [],
  );
  if (lines.length > FILE_LINES_MAX && !firstComment(text).includes(EXCUSE)) {
    const advice = `split it by concept, or open it with "${EXCUSE} …"`;
    problems.push(`${path} has ${lines.length} lines, at most ${FILE_LINES_MAX}: ${advice}`);
  }
  return problems;
}

/** Bounds the length of code files and of their lines. */
export async function checkSize(): Promise<Finding> {
  const files = (await repositoryFiles()).filter((path) => CODE.has(extname(path)));
  return { problems: files.flatMap(problemsIn), note: `${files.length} code files` };
}
