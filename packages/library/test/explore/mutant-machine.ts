import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { engineModel, production, type EngineModel, type Machine } from "./machine.ts";
import type { Mutant } from "./mutant.ts";

/** A mutant is loaded from a copy of the sources that it may change; the copy goes with the run. */

const sources = fileURLToPath(new URL("../../src", import.meta.url));
const copied = ["core", "fence", "errors.ts", "lock/attempt-state.ts", "lock/lease-state.ts"];
const modules = {
  acquire: "core/lock/acquire.ts",
  cancel: "core/lock/cancel.ts",
  force: "core/lock/force.ts",
  look: "core/lock/look.ts",
  release: "core/lock/release.ts",
  renew: "core/lock/renew.ts",
  resume: "core/lock/resume.ts",
  spaceRecords: "core/lock/space-records.ts",
  sweep: "core/lock/sweep.ts",
  attempt: "lock/attempt-state.ts",
  lease: "lock/lease-state.ts",
  fence: "fence/sqlite-fence.ts",
} as const;

const promises: Readonly<Record<NonNullable<Mutant["engine"]>, Partial<EngineModel>>> = {
  "tells-uncommitted": { tellsUncommitted: true },
  "floor-not-compared": { isCompared: (kind) => kind !== "floor" },
  "counts-from-reply": { countsFromReply: true },
};

/** The machine of a mutant. Throws when a text is not found exactly once. */
export async function machineOf(mutant: Mutant): Promise<Machine> {
  const broken = mutant.engine === undefined ? {} : promises[mutant.engine];
  const engine: EngineModel = { ...engineModel, ...broken };
  if (mutant.edits.length === 0) return { ...production, engine };
  const folder = await mkdtemp(join(tmpdir(), "leasehold-mutant-"));
  try {
    for (const path of copied)
      await cp(join(sources, path), join(folder, path), { recursive: true });
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    for (const edit of mutant.edits) await replaceOnce(folder, mutant.id, edit);
    const loaded: Record<string, unknown> = {};
    for (const [name, path] of Object.entries(modules)) {
      loaded[name] = await import(pathToFileURL(join(folder, path)).href);
    }
    return { ...(loaded as unknown as Machine), engine };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function replaceOnce(
  folder: string,
  id: string,
  [path, text, replacement]: Mutant["edits"][number],
): Promise<void> {
  const file = join(folder, path);
  const source = await readFile(file, "utf8");
  const parts = source.split(text);
  if (parts.length !== 2) {
    throw new Error(`${id}: the text stands ${parts.length - 1} times in ${path}: ${text}`);
  }
  await writeFile(file, parts.join(replacement));
}
