export type { Duration } from "./core/duration.ts";
export { parseDuration } from "./core/duration.ts";
export type { Decide, Decided, Decision, Needs, Snapshot, Write } from "./core/decision.ts";
export type { Fenced, FenceEntry, FenceMode } from "./core/fence/entry.ts";
export type { RecordKey } from "./core/key.ts";
export type { Actor, AuditKind, Mode } from "./core/lock/record.ts";
export type { Denial, HolderView, LockState, LockStatus, QueueView } from "./core/lock/views.ts";
export type { DurationMs, EpochMs, Json, MonotonicMs } from "./core/scalars.ts";
export type {
  CallOptions,
  Capabilities,
  Engine,
  KeyHint,
  Page,
  PageRequest,
} from "./engine/contract.ts";
export {
  EngineUnavailableError,
  FenceInstallError,
  InvalidArgumentError,
  LeaseholdError,
  LeaseLostError,
  LeaseUnverifiedError,
  LockAbortedError,
  LockWaitTimeoutError,
  QueueFullError,
  ReadOnlyError,
  RecordCorruptError,
  SpaceClosedError,
  StaleFenceError,
  TokenOverflowError,
} from "./errors.ts";
export type { LossReason, Retry, StaleFenceFacts } from "./errors.ts";
export type {
  AcquireOptions,
  Claim,
  ClaimOptions,
  CloseOptions,
  Explanation,
  ForceOptions,
  ForceResult,
  HistoryEntry,
  HistoryOptions,
  Lease,
  LeaseState,
  ListOptions,
  ListPage,
  LockEvent,
  ResumeOptions,
  Space,
  SpaceEventName,
  SpaceEvents,
  SpaceOptions,
  SweepCounts,
  TryClaimOptions,
  TryOptions,
} from "./lock/space-api.ts";
export { open, openOn } from "./open.ts";
export type { OpenOptions } from "./open.ts";
export type { Clock, Entropy, Timer } from "./time/clock.ts";
export { systemClock } from "./time/system-clock.ts";
export { createSystemEntropy } from "./time/system-entropy.ts";
