import ts from "typescript";
import type { Finding } from "./check.ts";
import { isShipped, parseSource, placeOf, repositoryFiles, walk } from "./sources.ts";

/** The only folder that may read a clock, set a timer or draw a random number. */
const TIME_FOLDER = "packages/library/src/time/";

/** Banned as a free name and as a member of the global object, however it was imported. */
const TIMERS = new Set(["setTimeout", "setInterval", "setImmediate", "performance", "hrtime"]);

/** Banned wherever the name stands, because every one of them draws random numbers. */
const RANDOMS = new Set([
  "getRandomValues",
  "randomBytes",
  "randomFill",
  "randomFillSync",
  "randomInt",
  "randomUUID",
]);

const MEMBERS = new Set(["Date.now", "Math.random", "process.hrtime", "AbortSignal.timeout"]);
const GLOBAL_OBJECTS = new Set(["globalThis", "global"]);
const MODULES = new Set(["node:timers", "node:timers/promises", "node:perf_hooks"]);

/** True where an identifier only names a property: `{ setTimeout: … }`, `socket.setTimeout`. */
function isPropertyName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) {
    return parent.name === node && !GLOBAL_OBJECTS.has(parent.expression.getText());
  }
  return (
    (ts.isPropertyAssignment(parent) ||
      ts.isPropertySignature(parent) ||
      ts.isPropertyDeclaration(parent) ||
      ts.isMethodSignature(parent) ||
      ts.isMethodDeclaration(parent)) &&
    parent.name === node
  );
}

/** The banned name that a node uses, or undefined. Comments and strings are no nodes of use. */
function bannedName(node: ts.Node): string | undefined {
  if (ts.isIdentifier(node)) {
    if (RANDOMS.has(node.text)) return node.text;
    return TIMERS.has(node.text) && !isPropertyName(node) ? node.text : undefined;
  }
  if (ts.isPropertyAccessExpression(node)) {
    const text = node.getText();
    return MEMBERS.has(text) ? text : undefined;
  }
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    return MODULES.has(node.moduleSpecifier.text) ? node.moduleSpecifier.text : undefined;
  }
  return readsTheDate(node) ? "Date without arguments" : undefined;
}

/** `new Date()` and `Date()` read the clock; `new Date(ms)` only formats and is allowed. */
function readsTheDate(node: ts.Node): boolean {
  if (ts.isNewExpression(node)) {
    return node.expression.getText() === "Date" && (node.arguments ?? []).length === 0;
  }
  return ts.isCallExpression(node) && node.expression.getText() === "Date";
}

function problemsIn(path: string): readonly string[] {
  const source = parseSource(path);
  const problems: string[] = [];
  walk(source, (node) => {
    const name = bannedName(node);
    if (name === undefined) return;
    const advice = `take a Clock or an Entropy as an argument; only ${TIME_FOLDER} may use it`;
    problems.push(`${placeOf(source, node)} uses ${name}: ${advice}`);
  });
  return problems;
}

/** Finds shipped code that reads a clock, sets a timer or draws a random number by itself. */
export async function checkGlobals(): Promise<Finding> {
  const files = (await repositoryFiles()).filter(
    (path) => isShipped(path) && !path.startsWith(TIME_FOLDER),
  );
  return { problems: files.flatMap(problemsIn), note: `${files.length} shipped files` };
}
