import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A store file in a folder of its own, removed with it at the end of the test. */
export class ScratchStore implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "leasehold-process-"));
  readonly path: string = join(this.folder, "store.db");
  readonly url: string = `sqlite:${this.path}`;

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Waits until a condition holds; the bound is generous, because machines are shared. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  msMax = 20_000,
): Promise<void> {
  const endMs = performance.now() + msMax;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`not so within ${msMax} ms`);
    await new Promise((resume) => setTimeout(resume, 20));
  }
}
