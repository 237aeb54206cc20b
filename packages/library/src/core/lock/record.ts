import type { RecordKey } from "../key.ts";
import type { DurationMs, EpochMs, FencingToken, Json } from "../scalars.ts";

/**
 * The stored shapes of the lock part, format version 1 (docs/spec/locks.md section 4).
 *
 * They are those of the whole specification: members that only batches, owning locks, upgrades,
 * elections or semaphores set are part of the format from the start.
 */

export type Mode = "exclusive" | "shared";
export type GrantKind = "lease" | "claim" | "resumed";
export type TicketKind = "lease" | "claim";

/** Who asked, for people to read: `{ host: "web-1", pid: 4711, app: "nightly" }`. */
export interface Actor {
  readonly host: string;
  readonly pid: number;
  readonly app?: string;
  readonly key?: string;
}

export interface LockRecord {
  readonly v: 1;
  /** Highest token ever minted for this lock. */
  readonly counter: FencingToken;
  /** Number of the next ticket; rises with every enqueue. */
  readonly nextTicket: number;
  readonly limit?: number;
  /** Held, pending and lapsed grants in token order. */
  readonly grants: readonly Grant[];
  /** The tickets below page `pages.first`, in number order. */
  readonly queue: readonly Ticket[];
  readonly pages?: Pages;
  /** The newest ended grants and cancelled attempts, oldest first. */
  readonly ended: readonly Ended[];
  readonly touchedAt: EpochMs;
}

/** Which further pages of the queue exist, and what all of theirs add up to (L126). */
export interface Pages {
  readonly first: number;
  readonly last: number;
  readonly depth: number;
  readonly exclusive: number;
}

export interface PageRecord {
  readonly v: 1;
  readonly tickets: readonly Ticket[];
}

export interface Grant {
  readonly id: string;
  readonly kind: GrantKind;
  readonly state: "held" | "pending";
  readonly token: FencingToken;
  readonly mode: Mode;
  readonly permits?: number;
  readonly slots?: readonly number[];
  readonly owner: string;
  readonly actor: Actor;
  readonly note?: string;
  readonly value?: Json;
  /** Granted length, used by every later renewal. */
  readonly leaseMs: DurationMs;
  /** Length with which `expiresAt` was last set. */
  readonly spanMs: DurationMs;
  readonly expiresAt: EpochMs;
  readonly grantedAt: EpochMs;
  readonly lockDelayMs: DurationMs;
  readonly size: number;
  readonly for?: string;
  readonly presence: string;
  /** Highest number of a change of this lease (L129). */
  readonly change: number;
  readonly waits?: readonly { readonly ticket: string; readonly key: RecordKey }[];
  readonly forced?: { readonly by: Actor; readonly reason: string };
}

export interface Ticket {
  readonly id: string;
  readonly number: number;
  readonly kind: TicketKind;
  readonly mode: Mode;
  readonly permits?: number;
  readonly owner: string;
  readonly actor: Actor;
  readonly note?: string;
  readonly value?: Json;
  readonly leaseMs: DurationMs;
  readonly lockDelayMs: DurationMs;
  readonly enqueuedAt: EpochMs;
  /** Engine time at which the ticket is dead; null when it waits without limit. */
  readonly giveUpAt: EpochMs | null;
  readonly presence: string;
  readonly size: number;
  readonly for?: string;
  readonly upgrades?: string;
  /** Held back by the holder limit alone (L134). */
  readonly limited?: true;
}

/** The parts of a waiting batch; its ticket stands in the queue of each (L79). */
export interface BatchRecord {
  readonly v: 1;
  readonly ticket: string;
  readonly presence: string;
  readonly items: readonly BatchItem[];
}

interface BatchItem {
  readonly name: string;
  /** Number of the ticket in the queue of this lock. */
  readonly number: number;
  readonly mode: Mode;
  /** The name for whose sake the batch asks for this owning lock (L87). */
  readonly for?: string;
}

export type How =
  | "released"
  | "lost"
  | "reclaimed"
  | "withdrawn"
  | "cancelled"
  | "superseded"
  | "forced";

export interface Ended {
  readonly id: string;
  readonly token: FencingToken;
  readonly how: How;
  readonly at: EpochMs;
  readonly by?: Actor;
  readonly reason?: string;
}

export interface PresenceRecord {
  readonly v: 1;
  readonly actor: Actor;
  readonly aliveUntil: EpochMs;
  readonly spanMs: DurationMs;
}

export interface FloorRecord {
  readonly v: 1;
  readonly floor: FencingToken;
}

/** Every kind of entry in the history of a lock. */
export const auditKinds = [
  "granted",
  "claimed",
  "resumed",
  "upgraded",
  "downgraded",
  "released",
  "lost",
  "reclaimed",
  "withdrawn",
  "cancelled",
  "superseded",
  "forced",
  "raised",
  "resized",
] as const;

export type AuditKind = (typeof auditKinds)[number];

export interface AuditEntry {
  readonly token: FencingToken;
  readonly kind: AuditKind;
  readonly owner: string;
  readonly actor: Actor;
  readonly mode: Mode;
  readonly by?: Actor;
  readonly reason?: string;
  readonly heldMs?: DurationMs;
}

/** All audit entries that one commit makes for one lock, under the key of the first (L112). */
export interface AuditRecord extends AuditEntry {
  readonly v: 1;
  readonly at: EpochMs;
  readonly name: string;
  readonly also?: readonly AuditEntry[];
}

/** Most tickets of one page of the queue. */
export const pageTicketsMax = 16;
/** A record left with fewer tickets than this takes the next whole page in. */
export const recordTicketsMin = 8;
/** Most entries of the `ended` list. */
export const endedMax = 4;
/** How long an entry stays in the `ended` list. */
export const endedKeptMs = 600_000;
/** The largest token; minting past it fails (L62). */
export const tokenMax: number = Number.MAX_SAFE_INTEGER;
