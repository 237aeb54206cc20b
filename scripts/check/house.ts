import { basename, extname } from "node:path";
import ts from "typescript";
import type { Finding } from "./check.ts";
import { isTest, parseSource, placeOf, readText, repositoryFiles, walk } from "./sources.ts";

const ROOT_ENTRIES = new Set([
  "README.md",
  "ARCHITECTURE.md",
  "STYLE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "LICENSE",
  "package.json",
  "package-lock.json",
  "knip.json",
  "vitest.config.ts",
  "docs",
  "packages",
  "examples",
  "bench",
  "scripts",
  "test",
]);
const BINARY = new Set([".png", ".jpg", ".gif", ".ico", ".woff2", ".db", ".gz"]);
const TEST_CALLS = new Set(["test", "it", "describe", "suite"]);
const FOCUS = new Set(["only", "skip", "todo"]);

/**
 * Texts that tie the repository to one machine. They are joined
 * here from pieces, so that this file does not contain them. Only an absolute path counts:
 * `src/work/` is a folder of this project.
 */
const FORBIDDEN: readonly RegExp[] = [
  new RegExp(String.raw`(?<![\w.*)}/-])/${"work"}/`),
  new RegExp(String.raw`(?<![\w.*)}/-])/${"root"}/`),
  new RegExp(["registry", "npmjs"].join(String.raw`\.`)),
];

/** A name that says nothing invites everything into the file. */
const EMPTY_NAME = /(^|-)(utils?|helpers?|common|manager|types|misc)(-|\.)/;
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/;

function nameProblems(path: string): readonly string[] {
  const name = basename(path);
  if (EMPTY_NAME.test(name)) return [`${path} must be named after its one concept`];
  return KEBAB_CASE.test(name) ? [] : [`${path} must be named in kebab case`];
}

function rootProblems(files: readonly string[]): readonly string[] {
  const entries = new Set(files.map((path) => path.split("/", 1).join("")));
  return [...entries]
    .filter((entry) => !entry.startsWith(".") && !ROOT_ENTRIES.has(entry))
    .filter((entry) => !/^tsconfig(\.\w+)?\.json$/.test(entry))
    .map((entry) => `${entry} does not belong into the root folder`);
}

function forbiddenProblems(path: string): readonly string[] {
  return readText(path)
    .split("\n")
    .flatMap((line, index) =>
      FORBIDDEN.filter((pattern) => pattern.test(line)).map(
        (pattern) => `${path}:${index + 1} contains a forbidden text: ${pattern.source}`,
      ),
    );
}

/** A switched-off lint rule must say why: `// oxlint-disable-next-line rule -- reason`. */
function excuseProblems(path: string): readonly string[] {
  return readText(path)
    .split("\n")
    .flatMap((line, index) =>
      /^\s*(?:\/\/|\/\*)\s*(?:ox|es)lint-disable/.test(line) && !/ -- \S/.test(line)
        ? [`${path}:${index + 1} switches a lint rule off without " -- " and a reason`]
        : [],
    );
}

function focusProblems(path: string): readonly string[] {
  const source = parseSource(path);
  const problems: string[] = [];
  walk(source, (node) => {
    if (!ts.isPropertyAccessExpression(node) || !FOCUS.has(node.name.text)) return;
    if (!TEST_CALLS.has(node.expression.getText().split(".", 1).join(""))) return;
    problems.push(`${placeOf(source, node)} leaves tests out by .${node.name.text}`);
  });
  return problems;
}

/** Checks the root folder, file names, forbidden texts, left-out tests and lint exceptions. */
export async function checkHouse(): Promise<Finding> {
  const files = await repositoryFiles();
  const texts = files.filter((path) => !BINARY.has(extname(path)));
  const code = files.filter((path) => path.endsWith(".ts"));
  const problems = [
    ...rootProblems(files),
    ...texts.flatMap(forbiddenProblems),
    ...code.flatMap(nameProblems),
    ...code.flatMap(excuseProblems),
    ...code.filter(isTest).flatMap(focusProblems),
  ];
  return { problems, note: `${texts.length} text files` };
}
