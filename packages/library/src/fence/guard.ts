import type { Fenced } from "../core/fence/entry.ts";
import type { StaleFenceFacts } from "../errors.ts";

/**
 * What became of an installation.
 *
 * `newer` means that nothing was raised, because the resource has accepted a newer token of one of
 * the names at least; `marks` tells of each of these, in the order of the entries. A token is high
 * enough for the resource when it is above `Math.max(markX, markS)` of its name.
 */
export type InstallResult =
  | { readonly kind: "installed" }
  | { readonly kind: "newer"; readonly marks: readonly StaleFenceFacts[] };

/**
 * A resource at which marks can be raised ahead of the first guarded work, so that nothing older is
 * accepted from then on. Every fence of this package is one.
 */
export interface Guard {
  /**
   * Raises the marks of all entries, durably and all or none. When the promise has resolved with
   * `installed`, no earlier conflicting token is accepted any more. May be repeated.
   *
   * Rejects with `FenceInstallError` when the resource cannot be reached, with
   * `InvalidArgumentError` for entries that no guard accepts.
   */
  install(fenced: Fenced): Promise<InstallResult>;
}
