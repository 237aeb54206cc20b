import type { FenceEntry, Fenced, FenceOptions } from "../core/fence/entry.ts";
import { checkFenced } from "../core/fence/entry-checks.ts";
import { decideFences, noMarks, type FenceMarks, type StaleEntries } from "../core/fence/rule.ts";
import { encodeKey } from "../core/key.ts";
import { checkName } from "../core/name.ts";
import { FenceInstallError, InvalidArgumentError, StaleFenceError } from "../errors.ts";
import type { Guard, InstallResult } from "./guard.ts";
import { checkDone, checkWork } from "./guarded-work.ts";

/**
 * A fence for a resource inside one process, and for tests. Its marks live as long as the object:
 * they are right for a resource that is gone with it, and for no other.
 */
export class MemoryFence implements Guard {
  readonly #marks = new Map<string, FenceMarks>();
  /** Marks that become true when the guarded work that runs now has succeeded. */
  #staged: Map<string, FenceMarks> | undefined;

  /**
   * Compares and raises. Inside the work of {@link guarded} the marks stand only if that work
   * succeeds; elsewhere at once.
   *
   * Throws `StaleFenceError` for an older token and `InvalidArgumentError` without one; nothing is
   * raised then.
   */
  guard(fenced: Fenced, options: FenceOptions = {}): void {
    const stale = this.#pass(checkFenced(fenced, options), this.#staged ?? this.#marks);
    if (stale !== undefined) throw new StaleFenceError(stale[0]);
  }

  /**
   * Runs `work` when the tokens pass, and gives what it gives. Work that throws raises no mark. It
   * must not be asynchronous, and guarded work does not begin inside of other guarded work.
   *
   * Throws `StaleFenceError` and `InvalidArgumentError` as {@link guard} does, before the work.
   */
  guarded<Value>(fenced: Fenced, options: FenceOptions, work: () => Value): Value {
    const checked = checkFenced(fenced, options);
    checkWork(work);
    this.#assertIdle("guarded");
    const staged = new Map<string, FenceMarks>();
    const stale = this.#pass(checked, staged);
    if (stale !== undefined) throw new StaleFenceError(stale[0]);
    this.#staged = staged;
    try {
      const value = work();
      checkDone(value);
      for (const [key, marks] of staged) this.#marks.set(key, marks);
      return value;
    } finally {
      this.#staged = undefined;
    }
  }

  /** The marks of a name; all 0 for one that was never guarded. */
  marks(namespace: string, name: string): FenceMarks {
    const key = encodeKey([checkName("namespace", namespace), checkName("name", name)]);
    return this.#marks.get(key) ?? noMarks;
  }

  async install(fenced: Fenced): Promise<InstallResult> {
    const checked = checkFenced(fenced);
    try {
      this.#assertIdle("install");
    } catch (error) {
      const [first] = checked.fences;
      throw new FenceInstallError(first.name, first.token, error);
    }
    const stale = this.#pass(checked, this.#marks);
    return stale === undefined ? { kind: "installed" } : { kind: "newer", marks: stale };
  }

  #assertIdle(call: string): void {
    if (this.#staged === undefined) return;
    const rule = "must not begin inside of guarded work; use guard there";
    throw new InvalidArgumentError(call, "a call", rule);
  }

  /** Raises the marks in `target` and gives undefined, or the entries that are stale. */
  #pass({ namespace, fences }: Fenced, target: Map<string, FenceMarks>): StaleEntries | undefined {
    const keyOf = (entry: FenceEntry): string => encodeKey([namespace, entry.name]);
    const verdict = decideFences(fences, (entry) => {
      const key = keyOf(entry);
      return target.get(key) ?? this.#marks.get(key) ?? noMarks;
    });
    if (verdict.kind === "refused") return verdict.stale;
    for (const { entry, after } of verdict.passed) target.set(keyOf(entry), after);
    return undefined;
  }
}
