/** Where in the work on a store something failed. */
export type Phase = "open" | "work" | "commit";

/** What a failure means for the calls that met it. Plain data, because it crosses threads. */
export interface SqliteFailure {
  readonly what: string;
  readonly outcome: "none" | "unknown";
  readonly isTransient: boolean;
  /** Somebody else is writing; the transaction may simply be tried again. */
  readonly isBusy: boolean;
  /** The connection is not to be used again. */
  readonly mustReopen: boolean;
}

/** A failure on its way from the connection to the call. */
export class SqliteFailureError extends Error {
  readonly failure: SqliteFailure;

  constructor(failure: SqliteFailure, cause?: unknown) {
    super(failure.what, { cause });
    this.failure = failure;
  }
}

const codes = {
  busy: 5,
  locked: 6,
  noMemory: 7,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  protocol: 15,
  tooBig: 18,
  notDatabase: 26,
} as const;

/** SQLITE_IOERR_WRITE: what a full disk or a size limit of the process may look like, too. */
const writeFailed = 778;

const advice: Readonly<Record<number, string>> = {
  [codes.busy]: "the store is busy: other processes write without pause",
  [codes.locked]: "the store is busy: other processes write without pause",
  [codes.readOnly]: "the store cannot be written: check the rights of the file and its folder",
  [codes.corrupt]: "the file is damaged; restore it from a backup, then raise the floor",
  [codes.full]: "the disk is full",
  [codes.cannotOpen]: "the file cannot be opened: check the path and the rights of its folder",
  [codes.notDatabase]: "the file is not a SQLite database",
};

/** These go away by themselves, or may. */
const transientCodes: ReadonlySet<number> = new Set([
  codes.busy,
  codes.locked,
  codes.noMemory,
  codes.inputOutput,
  codes.protocol,
]);

/** After these the connection is as good as before. */
const harmlessCodes: ReadonlySet<number> = new Set([
  codes.busy,
  codes.locked,
  codes.full,
  codes.tooBig,
]);

/**
 * What an error of `node:sqlite` means; the only place that looks at its codes.
 *
 * A busy or full store at COMMIT stored nothing: the frame with the commit mark is written last,
 * and was not. Any other error at COMMIT, above all a failed flush, is unknown: the frames may be
 * in the log with their mark, and recovery will find them (docs/engines.md).
 */
export function classifySqliteError(error: unknown, phase: Phase): SqliteFailure {
  if (error instanceof SqliteFailureError) return error.failure;
  const extended = (error as { errcode?: unknown } | undefined)?.errcode;
  if (typeof extended !== "number") {
    const outcome = phase === "commit" ? "unknown" : "none";
    const what = error instanceof Error ? error.message : String(error);
    return { what, outcome, isTransient: false, isBusy: false, mustReopen: true };
  }
  const code = extended & 0xff;
  const isBusy = code === codes.busy || code === codes.locked;
  const isFull = code === codes.full || (extended === writeFailed && phase !== "commit");
  const isDefinite = phase !== "commit" || isBusy || code === codes.full;
  const said = error instanceof Error ? error.message : "error";
  return {
    what: `${advice[isFull ? codes.full : code] ?? "the store failed"} (${said}, code ${extended})`,
    outcome: isDefinite ? "none" : "unknown",
    isTransient: transientCodes.has(code) && !isFull,
    isBusy,
    mustReopen: !harmlessCodes.has(code) || !isDefinite,
  };
}

/** A failure that SQLite itself does not know of. */
export function storeFailure(
  what: string,
  facts: { readonly outcome?: "none" | "unknown"; readonly isTransient?: boolean } = {},
): SqliteFailureError {
  return new SqliteFailureError({
    what,
    outcome: facts.outcome ?? "none",
    isTransient: facts.isTransient ?? false,
    isBusy: false,
    mustReopen: true,
  });
}
