// Who may import whom, one rule per line of the architecture. Type imports count as imports.
const SRC = "^packages/library/src";
const TESTS = "(^test/|^packages/[^/]+/test/|\\.test\\.ts$)";

/** A rule that lets files under `from` import project files only where `allowed` matches. */
function only(name, from, allowed) {
  return {
    name,
    severity: "error",
    from: { path: `${SRC}/${from}`, pathNot: "\\.test\\.ts$" },
    to: { path: "^packages/", pathNot: `${SRC}/(${allowed})` },
  };
}

export default {
  forbidden: [
    only("core-imports-only-core", "core/", "core/|errors\\.ts"),
    only("time-imports-only-errors-and-core", "time/", "time/|core/|errors\\.ts"),
    only("engine-imports-only-core-and-time", "engine/", "engine/|core/|time/|errors\\.ts"),
    only(
      "engines-import-no-other-engine",
      "engines/([^/]+)/",
      "engine/|core/|time/|errors\\.ts|engines/$1/",
    ),
    only("fences-import-only-core", "fence/", "fence/|core/|errors\\.ts"),
    only(
      "lock-shell-imports-only-below",
      "lock/",
      "lock/|core/|engine/|time/|fence/guard\\.ts|errors\\.ts",
    ),
    only("errors-import-only-core", "errors\\.ts$", "core/|errors\\.ts"),
    {
      name: "core-is-pure",
      severity: "error",
      comment: "No built-in and no package: a decision is computed from its arguments alone.",
      from: { path: `${SRC}/core/`, pathNot: "\\.test\\.ts$" },
      to: { pathNot: "^packages/" },
    },
    {
      name: "fences-bring-no-driver",
      severity: "error",
      comment: "The user's database is handed in; no built-in and no package is needed for it.",
      from: { path: `${SRC}/fence/`, pathNot: "\\.test\\.ts$" },
      to: { pathNot: "^packages/" },
    },
    {
      name: "errors-and-time-import-core-types-only",
      severity: "error",
      from: { path: `${SRC}/(time/|errors\\.ts$)`, pathNot: "\\.test\\.ts$" },
      to: { path: `${SRC}/core/`, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "only-tests-import-testing",
      severity: "error",
      from: { path: "^packages/[^/]+/src/", pathNot: `(${SRC}/testing/|\\.test\\.ts$)` },
      to: { path: `${SRC}/testing/` },
    },
    {
      name: "library-has-no-runtime-dependencies",
      severity: "error",
      from: { path: `${SRC}/`, pathNot: "\\.test\\.ts$" },
      to: { path: "node_modules/", pathNot: "node_modules/@types/node/" },
    },
    {
      name: "server-uses-public-entries",
      severity: "error",
      from: { path: "^packages/server/" },
      to: { path: `${SRC}/`, pathNot: `${SRC}/(index|testing/index)\\.ts$` },
    },
    {
      name: "server-names-the-library-by-its-package",
      severity: "error",
      from: { path: "^packages/server/" },
      to: { path: `${SRC}/`, dependencyTypes: ["local"] },
    },
    {
      name: "library-does-not-know-the-server",
      severity: "error",
      from: { path: "^packages/library/" },
      to: { path: "^packages/server/" },
    },
    {
      name: "sources-do-not-import-tests",
      severity: "error",
      from: { path: "^packages/[^/]+/src/", pathNot: "\\.test\\.ts$" },
      to: { path: TESTS },
    },
    {
      name: "no-cycles",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-orphans",
      severity: "error",
      from: { orphan: true, path: "^packages/", pathNot: `(\\.d\\.ts$|${TESTS})` },
      to: {},
    },
    {
      name: "not-to-unresolvable",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^(packages/[^/]+/dist|coverage)/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["leasehold-src", "import", "node", "default", "types"],
      extensions: [".ts", ".js", ".mjs", ".json"],
    },
  },
};
