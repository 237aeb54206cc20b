import { isatty } from "node:tty";

import type { Palette } from "./palette.ts";
import { createPalette } from "./palette.ts";

/** A stream that people or programs read: standard output or standard error. */
export interface TextOutput {
  readonly isTerminal: boolean;
  /** Characters of a line; undefined where there are no lines of a fixed length. */
  readonly columns: () => number | undefined;
  readonly palette: Palette;
  readonly line: (text: string) => void;
  /** Text without an end of line, such as a line that is to be overwritten. */
  readonly raw: (text: string) => void;
  /** One value as one line of JSON. */
  readonly json: (value: unknown) => void;
}

type Stream = NodeJS.WriteStream & { readonly fd: number };

/**
 * Wraps a stream of the process. A reader that has gone away is no failure: `whenClosed` is
 * called for it, and what is written from then on is dropped.
 */
export function createTextOutput(
  stream: Stream,
  environment: Readonly<Record<string, string | undefined>>,
  whenClosed: () => void,
): TextOutput {
  let isClosed = false;
  stream.on("error", () => {
    isClosed = true;
    whenClosed();
  });
  const isTerminal = isatty(stream.fd);
  const isPlain = (environment["NO_COLOR"] ?? "") !== "" || environment["TERM"] === "dumb";
  function raw(text: string): void {
    if (!isClosed) stream.write(text);
  }
  return {
    isTerminal,
    // A terminal that was never given a size says 0.
    columns: () => (isTerminal && stream.columns > 0 ? stream.columns : undefined),
    palette: createPalette(isTerminal && !isPlain),
    raw,
    line: (text) => raw(`${text}\n`),
    json: (value) => raw(`${JSON.stringify(value)}\n`),
  };
}
