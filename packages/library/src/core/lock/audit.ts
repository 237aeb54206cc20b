import type { Write } from "../decision.ts";
import type { EpochMs, Json } from "../scalars.ts";
import { auditKey } from "./keys.ts";
import type { AuditEntry, AuditRecord } from "./record.ts";
import type { Part } from "./scope.ts";

interface AuditScene {
  readonly scope: { readonly namespace: string; readonly part?: Part };
  readonly name: string;
  readonly now: EpochMs;
}

/** The one audit record of a commit: its first entry, and all others beside it (L112). */
export function auditRecordOf(
  scene: AuditScene,
  first: AuditEntry,
  also: readonly AuditEntry[],
): Write {
  const record: AuditRecord = {
    v: 1,
    at: scene.now,
    name: scene.name,
    ...first,
    ...(also.length === 0 ? {} : { also }),
  };
  return {
    key: auditKey(scene.scope, scene.name, first),
    value: record as unknown as Json,
  };
}
