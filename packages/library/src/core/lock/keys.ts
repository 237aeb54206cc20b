import { orderedNumber, type RecordKey } from "../key.ts";
import type { Part } from "./scope.ts";

/** The keys of the lock part (docs/spec/locks.md section 4). */

export function lockKey(namespace: string, name: string, part: Part = "lock"): RecordKey {
  return [part, namespace, name];
}

export function queueKey(
  namespace: string,
  name: string,
  page: number,
  part: Part = "lock",
): RecordKey {
  const key = ["queue", namespace, name, orderedNumber(page)];
  return part === "lock" ? key : [...key, part];
}

/** The parts of a waiting batch, by the id of its ticket. */
export function batchKey(namespace: string, ticket: string): RecordKey {
  return ["batch", namespace, ticket];
}

export function presenceKey(namespace: string, presence: string): RecordKey {
  return ["presence", namespace, presence];
}

export function floorKey(namespace: string): RecordKey {
  return ["floor", namespace];
}

export function auditKey(
  { namespace, part = "lock" }: { readonly namespace: string; readonly part?: Part },
  name: string,
  entry: { readonly token: number; readonly kind: string },
): RecordKey {
  return ["audit", namespace, part, name, orderedNumber(entry.token), entry.kind];
}

export function sweepKey(namespace: string): RecordKey {
  return ["internal", namespace, "sweep"];
}

export function clockKey(namespace: string): RecordKey {
  return ["internal", namespace, "clock"];
}
