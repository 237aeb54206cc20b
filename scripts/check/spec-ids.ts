import ts from "typescript";
import type { Finding } from "./check.ts";
import { isShipped, isTest, parseSource, readText, repositoryFiles, walk } from "./sources.ts";

// An id is the letters of its family and a number: L12 is a rule, I3 an invariant, LS12 a
// scenario, M5 a mutant. docs/spec defines each in a table row that begins with it.
const ID = /\b(?:LS|WS|HS|L|W|H|I|M)\d+\b/g;
const ID_CELL = /^(?:LS|WS|HS|L|W|H|I|M)\d+$/;
const TITLE_CALLS = new Set(["test", "it", "describe", "scenario"]);
const TITLE_PROPERTIES = new Set(["title", "name"]);
/** Mutant tables print two entries per row; the second begins in this cell. */
const SECOND_ENTRY_CELL = 3;

function familyOf(id: string): string {
  return id.replace(/\d+$/, "");
}

/** Ids that a page of the specification defines: `| L12 | rule |`, `| M5 | … | … | M28 | … |`. */
function definedIn(page: string): readonly string[] {
  return page.split("\n").flatMap((line) => {
    if (!line.startsWith("|")) return [];
    const cells = line
      .split("|")
      .slice(1)
      .map((cell) => cell.trim());
    const [first = "", second = ""] = [cells[0], cells[SECOND_ENTRY_CELL]];
    if (!ID_CELL.test(first)) return [];
    const isPair = ID_CELL.test(second) && familyOf(second) === familyOf(first);
    return isPair ? [first, second] : [first];
  });
}

/** The literal text of a string or template; what a template computes is left out. */
function literalText(node: ts.Node): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return "";
  return [node.head.text, ...node.templateSpans.map((span) => span.literal.text)].join(" ");
}

/** The name that a call begins with: `test` for `test(…)`, `test.for(rows)(…)`. */
function calleeRoot(node: ts.Expression): string {
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)) {
    return calleeRoot(node.expression);
  }
  return node.getText();
}

/** Titles in a test file: first arguments of test calls, and `title` or `name` in data rows. */
function titlesIn(path: string): readonly string[] {
  const titles: string[] = [];
  walk(parseSource(path), (node) => {
    if (ts.isCallExpression(node) && TITLE_CALLS.has(calleeRoot(node.expression))) {
      const [title] = node.arguments;
      if (title !== undefined) titles.push(literalText(title));
    }
    if (ts.isPropertyAssignment(node) && TITLE_PROPERTIES.has(node.name.getText())) {
      titles.push(literalText(node.initializer));
    }
  });
  return titles;
}

function idsIn(text: string): readonly string[] {
  return text.match(ID) ?? [];
}

function idsOfFiles(paths: readonly string[]): ReadonlySet<string> {
  return new Set(paths.flatMap((path) => idsIn(readText(path))));
}

/** Where the specification and the code name ids. */
interface Mentions {
  readonly defined: ReadonlySet<string>;
  readonly inTitles: ReadonlySet<string>;
  readonly inCode: ReadonlySet<string>;
  readonly inMutants: ReadonlySet<string>;
}

async function collectMentions(): Promise<Mentions> {
  const files = await repositoryFiles();
  const pages = files.filter((path) => /^docs\/spec\/.*\.md$/.test(path));
  const code = files.filter((path) => path.endsWith(".ts") && (isTest(path) || isShipped(path)));
  // The published contract suite is shipped code whose cases are tests.
  const titled = code.filter((path) => isTest(path) || path.includes("/src/testing/"));
  const mutants = code.filter((path) => /\/test\/explore\/mutants/.test(path));
  return {
    defined: new Set(pages.flatMap((path) => definedIn(readText(path)))),
    inTitles: new Set(titled.flatMap((path) => titlesIn(path).flatMap(idsIn))),
    inCode: idsOfFiles(code),
    inMutants: idsOfFiles(mutants),
  };
}

function missingCover(id: string, mentions: Mentions): string | undefined {
  switch (familyOf(id)) {
    case "LS":
    case "WS":
    case "HS":
      return mentions.inTitles.has(id) ? undefined : `${id} stands in no title of a test`;
    case "M":
      return mentions.inMutants.has(id) ? undefined : `${id} is not in test/explore/mutants*.ts`;
    default:
      return mentions.inCode.has(id) ? undefined : `${id} is named by no source and no test`;
  }
}

function countsOf(defined: ReadonlySet<string>): string {
  const families = Map.groupBy(defined, familyOf);
  return [...families].map(([family, ids]) => `${ids.length} ${family}`).join(", ");
}

/** Checks that every id of the specification is covered, and that tests name only defined ids. */
export async function checkSpecIds(): Promise<Finding> {
  const mentions = await collectMentions();
  const { defined, inTitles } = mentions;
  if (defined.size === 0) return { problems: [], note: "docs/spec does not exist yet" };
  const uncovered = [...defined].flatMap((id) => missingCover(id, mentions) ?? []);
  const unknown = [...inTitles]
    .filter((id) => !defined.has(id))
    .map((id) => `${id} stands in a title of a test, but docs/spec does not define it`);
  return { problems: [...uncovered, ...unknown], note: `ids defined: ${countsOf(defined)}` };
}
