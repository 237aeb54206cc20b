import type { FenceEntry } from "../core/fence/entry.ts";
import type { RecordKey } from "../core/key.ts";
import type { GrantEntry } from "../core/lock/facts.ts";
import { lockKey } from "../core/lock/keys.ts";
import type { LockScope } from "../core/lock/scope.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { PortableLease } from "./lease-api.ts";

/** The locks of one lease with their tokens and modes, in the order asked for. */
export class LeaseEntries {
  readonly scope: LockScope;
  /** The keys of all its records. */
  readonly keys: readonly RecordKey[];
  #entries: readonly GrantEntry[];

  constructor(scope: LockScope, entries: readonly GrantEntry[]) {
    this.scope = scope;
    this.#entries = entries;
    this.keys = entries.map(({ name }) => lockKey(scope.namespace, name, scope.part));
  }

  get first(): GrantEntry {
    return this.#entries[0] as GrantEntry;
  }

  /** All but the first. */
  get also(): readonly GrantEntry[] {
    return this.#entries.length === 1 ? [] : this.#entries.slice(1);
  }

  /** The locks that were asked for, without their owning locks. */
  get names(): readonly string[] {
    return this.#entries.filter((entry) => entry.for === undefined).map(({ name }) => name);
  }

  /** What a guard compares: every lock of the lease with its mode and token. */
  get fences(): readonly FenceEntry[] {
    return this.#entries.map(({ name, mode, token, slots }) =>
      slots === undefined ? { name, mode, token } : { name, mode: "permits", token, slots },
    );
  }

  of(name: string): GrantEntry {
    const entry = this.#entries.find((each) => each.name === name);
    if (entry !== undefined) return entry;
    throw new InvalidArgumentError("name", name, "must be a lock of this lease");
  }

  /** Takes over what a change of mode has made of one entry. */
  replace(changed: GrantEntry): void {
    this.#entries = this.#entries.map((each) => (each.name === changed.name ? changed : each));
  }

  /** The form in which another process takes the lease up. */
  portable(facts: Pick<PortableLease, "namespace" | "leaseId" | "leaseMs">): PortableLease {
    const entries = this.#entries;
    return {
      ...facts,
      names: entries.map(({ name }) => name),
      modes: entries.map(({ mode }) => mode),
      tokens: entries.map(({ token }) => token),
    };
  }
}
