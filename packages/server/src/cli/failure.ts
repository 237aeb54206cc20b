import { constants } from "node:os";

import {
  EngineUnavailableError,
  InvalidArgumentError,
  LeaseLostError,
  LeaseholdError,
  LockWaitTimeoutError,
  QueueFullError,
} from "leasehold";

import { exitCodes } from "./exit-codes.ts";

/** Ends the command with a sentence and an exit code; thrown by commands, caught at the edge. */
export class CommandFailure extends Error {
  readonly exitCode: number;
  /** A stable word for programs, as errors of the library have one. */
  readonly code: string;

  constructor(exitCode: number, code: string, message: string) {
    super(message);
    this.exitCode = exitCode;
    this.code = code;
  }
}

/** A failure because of the command line itself; the message names parameter and value. */
export function usageFailure(message: string): CommandFailure {
  return new CommandFailure(exitCodes.usage, "USAGE", message);
}

/** The exit code of a process that a signal ended. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return exitCodes.signalled + constants.signals[signal];
}

/** The parameters of the library whose flag is not `--` and the parameter in kebab case. */
const operands: Readonly<Record<string, string>> = Object.freeze({
  name: "NAME",
  prefix: "--prefix",
});

function flagOf(parameter: string): string {
  const kebab = parameter.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return operands[parameter] ?? `--${kebab}`;
}

/** A refusal of the library in terms of the command line: `--lock-delay must be …`. */
function flagMessage(error: InvalidArgumentError): string {
  const { message, parameter } = error;
  const isPrefixed = message.startsWith(`${parameter} `);
  return isPrefixed ? flagOf(parameter) + message.slice(parameter.length) : message;
}

interface FailureFacts {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
}

/** What the user is told about anything that was thrown. */
export function describeFailure(error: unknown): FailureFacts {
  if (error instanceof CommandFailure) return error;
  if (!(error instanceof LeaseholdError)) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { exitCode: exitCodes.failed, code: "INTERNAL", message };
  }
  const { code } = error;
  if (error instanceof InvalidArgumentError) {
    return { exitCode: exitCodes.usage, code, message: flagMessage(error) };
  }
  return { exitCode: exitCodeOf(error), code, message: error.message };
}

function exitCodeOf(error: LeaseholdError): number {
  if (error instanceof LockWaitTimeoutError || error instanceof QueueFullError) {
    return exitCodes.conflict;
  }
  if (error instanceof LeaseLostError) return exitCodes.lost;
  if (error instanceof EngineUnavailableError) return exitCodes.unavailable;
  // Records that cannot be read and counters at their end: the store is of no use either.
  return error.retry === "never" ? exitCodes.unavailable : exitCodes.failed;
}
