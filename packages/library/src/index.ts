export type { Duration } from "./core/duration.ts";
export { parseDuration } from "./core/duration.ts";
export type { Decide, Decided, Decision, Needs, Snapshot, Write } from "./core/decision.ts";
export type { Fenced, FenceEntry, FenceMode } from "./core/fence/entry.ts";
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
  FenceInstallError,
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
  StaleFenceError,
  TokenOverflowError,
  UpgradeConflictError,
} from "./errors.ts";
export type { LossReason, Retry, StaleFenceFacts } from "./errors.ts";
export type {
  AcquireOptions,
  AttachOptions,
  BatchOptions,
  Claim,
  ClaimOptions,
  LockRequestItem,
  ResumeOptions,
  TryClaimOptions,
  TryOptions,
  UpgradeOptions,
  TryBatchOptions,
} from "./lock/request-api.ts";
export type { CampaignOptions, Election, Leader, Leadership } from "./lock/election-api.ts";
export type { CloseOptions, Space, SpaceOptions, SweepCounts } from "./lock/space-api.ts";
export type {
  Explanation,
  ForceOptions,
  ForceResult,
  HistoryEntry,
  HistoryOptions,
  ListOptions,
  ListPage,
  LockEvent,
} from "./lock/views-api.ts";
export type { Lease, LeaseState, PortableLease } from "./lock/lease-api.ts";
export type { PermitOptions, Semaphore, TryPermitOptions } from "./lock/semaphore-api.ts";
export type { SpaceEventName, SpaceEvents } from "./lock/events-api.ts";
export { open, openOn } from "./open.ts";
export type { OpenOptions } from "./open.ts";
export type { Clock, Entropy, Timer } from "./time/clock.ts";
export { systemClock } from "./time/system-clock.ts";
export { createSystemEntropy } from "./time/system-entropy.ts";
