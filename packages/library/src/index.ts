export type { Duration } from "./core/duration.ts";
export { parseDuration } from "./core/duration.ts";
export type { Decide, Decided, Decision, Needs, Snapshot, Write } from "./core/decision.ts";
export type { RecordKey } from "./core/key.ts";
export { auditKinds } from "./core/lock/record.ts";
export type { Actor, AuditKind, Mode } from "./core/lock/record.ts";
export { lockStates } from "./core/lock/views.ts";
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
  InvalidArgumentError,
  LeaseholdError,
  LeaseLostError,
  LeaseUnverifiedError,
  LimitMismatchError,
  LockAbortedError,
  LockWaitTimeoutError,
  QueueFullError,
  ReadOnlyError,
  RecordCorruptError,
  SpaceClosedError,
  TokenOverflowError,
  UpgradeConflictError,
} from "./errors.ts";
export type { LossReason, Retry } from "./errors.ts";
export type {
  AcquireOptions,
  AttachOptions,
  BatchOptions,
  CampaignOptions,
  Claim,
  ClaimOptions,
  CloseOptions,
  Election,
  Explanation,
  ForceOptions,
  ForceResult,
  HistoryEntry,
  HistoryOptions,
  Leader,
  Leadership,
  Lease,
  LeaseState,
  ListOptions,
  ListPage,
  LockEvent,
  LockRequestItem,
  PermitOptions,
  PortableLease,
  ResumeOptions,
  Semaphore,
  Space,
  SpaceEventName,
  SpaceEvents,
  SpaceOptions,
  SweepCounts,
  TryBatchOptions,
  TryClaimOptions,
  TryPermitOptions,
  TryOptions,
  UpgradeOptions,
} from "./lock/space-api.ts";
export { open, openOn } from "./open.ts";
export type { OpenOptions } from "./open.ts";
export type { Clock, Entropy, Timer } from "./time/clock.ts";
export { systemClock } from "./time/system-clock.ts";
export { createSystemEntropy } from "./time/system-entropy.ts";
