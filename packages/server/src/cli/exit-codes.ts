/**
 * What the command's exit codes mean. Beside these, `run` passes on what its command ended with,
 * and 128 + n when a signal n ended it.
 */
export const exitCodes: {
  readonly done: number;
  readonly failed: number;
  readonly usage: number;
  readonly unavailable: number;
  readonly lost: number;
  readonly system: number;
  readonly conflict: number;
  readonly notExecutable: number;
  readonly notFound: number;
  readonly signalled: number;
} = Object.freeze({
  done: 0,
  /** Nothing was done, or something was found to be wrong. */
  failed: 1,
  /** The command line is wrong; nothing was written (EX_USAGE). */
  usage: 64,
  /** The store cannot be reached, or does not answer in time (EX_UNAVAILABLE). */
  unavailable: 69,
  /** The lease was lost, and the command was ended (EX_SOFTWARE). */
  lost: 70,
  /** The system would not start a process (EX_OSERR). */
  system: 71,
  /** The lock was not got (EX_TEMPFAIL). */
  conflict: 75,
  notExecutable: 126,
  notFound: 127,
  /** Added to the number of the signal that ended something. */
  signalled: 128,
});
