import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of its own for one test, with a way to remove it. */
export function scratchFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "leasehold-test-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
