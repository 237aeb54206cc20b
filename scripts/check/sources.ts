import { existsSync, globSync, readFileSync } from "node:fs";
import ts from "typescript";
import { ROOT } from "./check.ts";
import { runProgram } from "./program.ts";

const UNTRACKED_FOLDERS = new Set(["node_modules", "dist", "coverage", ".git"]);

function isUntracked(entry: { readonly name: string }): boolean {
  return UNTRACKED_FOLDERS.has(entry.name);
}

/**
 * Every file of the repository, as paths from its root with forward slashes, sorted.
 *
 * Git knows best what belongs to it (new files count, ignored ones do not). Without git, in an
 * unpacked archive, all files count but those in folders that are never tracked.
 */
export async function repositoryFiles(): Promise<readonly string[]> {
  const words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const listed = await runProgram("git", words).catch(() => undefined);
  if (listed?.code === 0) {
    const paths = listed.stdout.split("\0").filter((path) => path !== "");
    return [...new Set(paths)].filter((path) => existsSync(ROOT + path)).toSorted();
  }
  return globSync("**/*", { cwd: ROOT, withFileTypes: true, exclude: isUntracked })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.replace(ROOT, ""))
    .toSorted();
}

export function readText(path: string): string {
  return readFileSync(ROOT + path, "utf8");
}

export function parseSource(path: string): ts.SourceFile {
  return ts.createSourceFile(path, readText(path), ts.ScriptTarget.Latest, true);
}

/** Calls `visit` for a node and everything below it, parents first. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  node.forEachChild((child) => walk(child, visit));
}

/** `path:line` of a node, lines from 1. */
export function placeOf(source: ts.SourceFile, node: ts.Node): string {
  const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
  return `${source.fileName}:${line + 1}`;
}

export function isTest(path: string): boolean {
  return path.endsWith(".test.ts") || /^(packages\/[^/]+\/)?test\//.test(path);
}

/** True for a file that is shipped: under `src` of a package, and no test. */
export function isShipped(path: string): boolean {
  return /^packages\/[^/]+\/src\/.*\.ts$/.test(path) && !isTest(path);
}
