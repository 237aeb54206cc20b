import { orderedNumber, type RecordKey } from "../key.ts";

/** The keys of the lock part (docs/spec/locks.md section 4). */

export function lockKey(namespace: string, name: string): RecordKey {
  return ["lock", namespace, name];
}

export function queueKey(namespace: string, name: string, page: number): RecordKey {
  return ["queue", namespace, name, orderedNumber(page)];
}

export function presenceKey(namespace: string, presence: string): RecordKey {
  return ["presence", namespace, presence];
}

export function floorKey(namespace: string): RecordKey {
  return ["floor", namespace];
}

export function auditKey(namespace: string, name: string, token: number, kind: string): RecordKey {
  return ["audit", namespace, "lock", name, orderedNumber(token), kind];
}

export function sweepKey(namespace: string): RecordKey {
  return ["internal", namespace, "sweep"];
}

export function clockKey(namespace: string): RecordKey {
  return ["internal", namespace, "clock"];
}
