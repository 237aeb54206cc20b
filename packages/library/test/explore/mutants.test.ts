import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const program = fileURLToPath(new URL("kill-mutants.ts", import.meta.url));

// A process of its own, because mutants are loaded from copies of the sources outside this folder.
test("every mutant in the catalogue is killed, as the kill table says", async () => {
  const run = promisify(execFile)(process.execPath, ["--conditions=leasehold-src", program]);
  const { stdout } = await run.catch((error: { readonly stdout?: string }) => ({
    stdout: error.stdout ?? "{}",
  }));
  expect(JSON.parse(stdout)).toMatchObject({ failures: [] });
}, 120_000);
