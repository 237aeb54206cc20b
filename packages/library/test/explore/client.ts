import type { AcquireResult } from "../../src/core/lock/acquire.ts";
import type { CancelResult } from "../../src/core/lock/cancel.ts";
import type { Outcome } from "../../src/core/lock/outcome.ts";
import type { GrantFacts } from "../../src/core/lock/facts.ts";
import type { GiveUpResult, LookResult } from "../../src/core/lock/look.ts";
import type { RenewResult } from "../../src/core/lock/renew.ts";
import type { AttemptStep } from "../../src/lock/attempt-state.ts";
import type { LeaseFacts } from "../../src/lock/lease-state.ts";
import { Violation } from "./engine.ts";
import type { Machine } from "./machine.ts";
import type { Attempt, Cancel, Client, Command, HeldLease, World } from "./state.ts";

/**
 * A client as an interpreter of the production step logic: it keeps what the shells keep, sends
 * what the steps ask for, and hands every answer to the steps.
 */

/** What a client sees besides its own state. */
export interface Sight {
  readonly machine: Machine;
  readonly world: World;
  /** Monotonic instant. */
  readonly mono: number;
  /** The highest token that was ever stored (I2). */
  readonly highest: number;
}

export type Failure = "none" | "unknown";

/** The answer to a command has come. */
export function onReply(
  client: Client,
  command: Command,
  sight: Sight,
  reply: { readonly sentAt: number; readonly outcome: unknown },
): Client {
  return withoutSettled(afterReply(client, command, sight, reply));
}

/** A call that has settled, and to which no answer is still to come, is forgotten (L122). */
function withoutSettled(client: Client): Client {
  const isOver = client.attempt?.facts.phase === "settled" && client.call === null;
  return isOver ? { ...client, attempt: null } : client;
}

function afterReply(
  client: Client,
  command: Command,
  sight: Sight,
  reply: { readonly sentAt: number; readonly outcome: unknown },
): Client {
  const idle = answered(client, command);
  const sentAt = sight.machine.engine.countsFromReply ? sight.mono : reply.sentAt;
  const outcome = reply.outcome as Outcome<unknown>;
  const about = { sight, sentAt };
  switch (command.do) {
    case "ask":
    case "look":
    case "leave":
      return onTicketReply(idle, command, outcome, about);
    case "cancel":
      return onCancelled(idle, command.id, outcome.result as CancelResult);
    case "renew":
      return onRenewed(idle, sight, outcome as Outcome<RenewResult>);
    case "release":
      return idle.lease === null ? idle : { ...idle, lease: null };
    case "resume": {
      const grant = outcome.result as GrantFacts | null;
      const attempt = null;
      return grant === null ? { ...idle, attempt } : granted({ ...idle, attempt }, grant, about);
    }
    case "force":
    case "presence":
    case "releaseClaim":
      return idle;
  }
}

/** The client without the call that this answer belongs to; another one may be under way. */
function answered(client: Client, command: Command): Client {
  return client.call?.command === command ? { ...client, call: null } : client;
}

interface About {
  readonly sight: Sight;
  readonly sentAt: number;
}

function onTicketReply(
  client: Client,
  command: Extract<Command, { readonly do: "ask" | "look" | "leave" }>,
  outcome: Outcome<unknown>,
  about: About,
): Client {
  const { attempt } = client;
  const { attempt: steps } = about.sight.machine;
  if (attempt === null || attempt.id !== command.id) return client;
  if (command.do === "ask") {
    return take(client, steps.onAsked(attempt.facts, outcome.result as AcquireResult), about);
  }
  if (command.do === "leave") {
    return take(client, steps.onLeft(attempt.facts, outcome.result as GiveUpResult), about);
  }
  const { answers, denial } = outcome.result as LookResult;
  const [answer] = answers;
  if (answer !== undefined) return take(client, steps.onTicketAnswer(attempt.facts, answer), about);
  if (denial === null || attempt.facts.phase !== "queued") return client;
  return { ...client, attempt: { ...attempt, facts: { ...attempt.facts, denial } } };
}

/** The engine call of a command has failed. */
export function onFailure(
  client: Client,
  command: Command,
  sight: Sight,
  failure: Failure,
): Client {
  return withoutSettled(afterFailure(client, command, sight, failure));
}

function afterFailure(client: Client, command: Command, sight: Sight, failure: Failure): Client {
  const idle = answered(client, command);
  const { attempt, lease } = idle;
  const { machine, mono } = sight;
  const about = { sight, sentAt: mono };
  switch (command.do) {
    case "ask": {
      if (attempt === null || attempt.id !== command.id) return idle;
      const isOver = attempt.waitEnd !== null && mono >= attempt.waitEnd;
      const facts = isOver ? { ...attempt.facts, isWaitOver: true } : attempt.facts;
      const told = { outcome: failure, isTransient: true };
      return take(idle, machine.attempt.onFailed(facts, told), about);
    }
    case "renew": {
      if (lease === null) return idle;
      const facts = machine.lease.changeFailed(lease.facts, failure);
      return withFacts(idle, lease, facts, sight);
    }
    case "resume":
      return { ...idle, attempt: null };
    case "cancel":
    case "force":
    case "leave":
    case "look":
    case "presence":
    case "release":
    case "releaseClaim":
      // Looks, cancels, releases and final decisions are sent again until they are answered.
      return idle;
  }
}

/** Follows the action of a step, as the waiter of the shell does. */
export function take(client: Client, step: AttemptStep, about: About): Client {
  const { attempt } = client;
  if (attempt === null) throw new Violation("I18: a call that has settled takes a step");
  const { facts, action } = step;
  const wasSettled = attempt.facts.phase === "settled";
  const next: Client = { ...client, attempt: { ...attempt, facts } };
  if (wasSettled && !["cancel", "nothing"].includes(action.do)) {
    throw new Violation(`I18: a settled call answers with ${action.do}`);
  }
  switch (action.do) {
    case "ask":
    case "retry":
    case "advance-then-ask":
      return { ...next, attempt: { ...attempt, facts, due: "ask" } };
    case "ask-anew":
      return askAnew(next, attempt, facts);
    case "await-grant":
      return { ...next, attempt: { ...attempt, facts, due: "nothing" } };
    case "leave":
      return { ...next, attempt: { ...attempt, facts, due: "leave" } };
    case "grant":
      return granted({ ...next, attempt: null }, action.grant, about);
    case "refuse":
      checkTimeout(attempt, action.isTimeout, about.sight.mono);
      return settled(next, facts.mayBeStored);
    case "full":
    case "mismatch":
      return settled(next, facts.mayBeStored);
    case "fail-with":
      return settled(next, facts.mayBeStored);
    case "fail":
      return settled(next, action.isCancelDue);
    case "cancel":
      return settled(next, true);
    case "nothing":
      return wasSettled ? settled(next, false) : { ...next, attempt: { ...attempt, facts } };
  }
}

/** I21: no time-out is told before the wait is over. */
function checkTimeout({ waitEnd }: Attempt, isTimeout: boolean, mono: number): void {
  if (!isTimeout || (waitEnd !== null && mono >= waitEnd)) return;
  throw new Violation("I21: a time-out is told before the wait is over");
}

function askAnew(client: Client, attempt: Attempt, facts: Attempt["facts"]): Client {
  const serial = client.serial + 1;
  const id = `${client.presence[0]}${serial}`;
  return { ...client, serial, attempt: { ...attempt, id, facts, due: "ask" } };
}

/** Drops a settled call, unless an answer to it is still to come; what is stored is cancelled. */
function settled(client: Client, isCancelDue: boolean): Client {
  const { attempt, call, cancels } = client;
  if (attempt === null) return client;
  const { id, facts } = attempt;
  const isKnown = cancels.some((cancel) => cancel.id === id);
  const due: Cancel = { id, number: facts.number };
  const now = isCancelDue && !isKnown ? [...cancels, due] : cancels;
  return { ...client, cancels: now, attempt: call === null ? null : attempt };
}

function granted(client: Client, grant: GrantFacts, { sight, sentAt }: About): Client {
  if (grant.token > sight.highest) throw new Violation("I2: a token is told that is not stored");
  if (client.lease !== null) throw new Violation("I18: one call was granted twice");
  if (grant.kind === "claim") return client;
  const facts = sight.machine.lease.heldSince(sentAt, grant.leaseMs, 0);
  return { ...client, lease: { grant, facts, isEnding: false } };
}

function onCancelled(client: Client, id: string, { ended }: CancelResult): Client {
  const cancels = client.cancels.filter((cancel) => cancel.id !== id);
  const cancelled = ended === "foreign" ? client.cancelled : [...client.cancelled, id];
  return { ...client, cancels, cancelled };
}

function onRenewed(client: Client, sight: Sight, { now, result }: Outcome<RenewResult>): Client {
  const { lease } = client;
  if (lease === null) return client;
  const { machine, mono } = sight;
  if (result.kind === "lost") {
    return withFacts(client, lease, machine.lease.lose(lease.facts, "expired"), sight);
  }
  const observed = machine.lease.observe(lease.facts, mono);
  const commit = {
    remainingMs: result.expiresAt - now,
    leaseMs: result.leaseMs,
    clockErrorMs: 0,
  };
  const facts = machine.lease.changeCommitted(observed, commit);
  if (machine.lease.isOver(observed) && !machine.lease.isOver(facts)) {
    throw new Violation("I10: a lost handle says held again");
  }
  return withFacts(client, { ...lease, facts: observed }, facts, sight);
}

function withFacts(client: Client, lease: HeldLease, facts: LeaseFacts, sight: Sight): Client {
  return { ...client, lease: { ...lease, facts: sight.machine.lease.observe(facts, sight.mono) } };
}

/** A holder compares its deadline with the clock whenever it does anything (L49). */
export function isHeld(client: Client, machine: Machine, mono: number): boolean {
  const { lease } = client;
  return lease !== null && machine.lease.observe(lease.facts, mono).phase === "held";
}
