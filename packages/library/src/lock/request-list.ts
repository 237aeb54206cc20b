import type { AskedItem } from "../core/lock/acquire-command.ts";
import type { Mode } from "../core/lock/record.ts";
import { checkName } from "../core/name.ts";
import { InvalidArgumentError } from "../errors.ts";
import { checkOneOf, orDefault } from "./argument-checks.ts";
import type { SpaceConfig } from "./space-config.ts";

/** What a request object may hold. */
const members: ReadonlySet<string> = new Set(["name", "mode", "owners"]);
/** Most owning locks of one name (section 3). */
const ownersMax = 64;

/**
 * The locks that a request names, each once and in the stronger of its modes (L80), followed by
 * their owning locks in shared mode (L84). The first is the first that was asked for.
 */
export function itemsOf(
  config: SpaceConfig,
  asked: readonly { readonly name: string; readonly mode: Mode; readonly owners: unknown }[],
): readonly [AskedItem, ...AskedItem[]] {
  const items = new Map<string, AskedItem>();
  for (const { name, mode } of asked) {
    const isExclusive = mode === "exclusive" || items.get(name)?.mode === "exclusive";
    items.set(name, { name, mode: isExclusive ? "exclusive" : "shared" });
  }
  for (const { name, owners } of asked) {
    for (const owner of checkOwners(config, name, owners)) {
      if (!items.has(owner)) items.set(owner, { name: owner, mode: "shared", for: name });
    }
  }
  if (items.size > config.batchMax) {
    const rule = `must name at most ${config.batchMax} locks, owning locks included`;
    const facts = { code: "BATCH_TOO_LARGE", limit: config.batchMax } as const;
    throw new InvalidArgumentError("requests", items.size, rule, facts);
  }
  return [...items.values()] as unknown as readonly [AskedItem, ...AskedItem[]];
}

/** Reads a list of names and request objects (L7). */
export function parseRequests(value: unknown): readonly {
  readonly name: string;
  readonly mode: Mode;
  readonly owners: unknown;
}[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new InvalidArgumentError("requests", value, "must be a list of at least one request");
  }
  // A hole is a wrong entry, too, so the list is not mapped but spread.
  return [...value].map((request: unknown, position) => parseOne(request, position));
}

function parseOne(
  request: unknown,
  position: number,
): { readonly name: string; readonly mode: Mode; readonly owners: unknown } {
  if (typeof request === "string") {
    return { name: checkName("requests", request, position), mode: "exclusive", owners: undefined };
  }
  if (typeof request !== "object" || request === null || Array.isArray(request)) {
    const rule = "must be a name or a request object";
    throw new InvalidArgumentError("requests", request, rule, { position });
  }
  const odd = Object.keys(request).find((member) => !members.has(member));
  if (odd !== undefined) {
    throw new InvalidArgumentError("requests", odd, "may hold name, mode and owners", { position });
  }
  const { name, mode, owners } = request as Readonly<Record<string, unknown>>;
  return {
    name: checkName("requests", name, position),
    mode: checkOneOf("mode", orDefault(mode, "exclusive"), ["exclusive", "shared"]),
    owners,
  };
}

/** The owning locks of a name: those given, or those that the space knows of; nearest first. */
function checkOwners(config: SpaceConfig, name: string, given: unknown): readonly string[] {
  const owners: unknown = given === undefined ? config.ownersOf?.(name) : given;
  if (owners === undefined) return [];
  if (!Array.isArray(owners) || owners.length > ownersMax) {
    throw new InvalidArgumentError(
      "owners",
      owners,
      `must be a list of at most ${ownersMax} names`,
    );
  }
  const names = [...owners].map((owner: unknown) => checkName("owners", owner));
  if (names.includes(name) || new Set(names).size < names.length) {
    throw new InvalidArgumentError(
      "owners",
      owners,
      "must not repeat a name, nor hold the name itself",
    );
  }
  return names;
}
