/** Width of the screen for which the help is laid out. */
const columnsMax = 80;

/**
 * The examples of a command, as its help shows them under everything else: side by side with what
 * they do, or above it where that is too long for one line.
 */
export function examplesText(examples: readonly (readonly [string, string])[]): string {
  const width = Math.max(...examples.map(([line]) => line.length));
  const beside = examples.map(([line, what]) => `  ${line.padEnd(width)}  ${what}`);
  const isTooLong = beside.some((line) => line.length > columnsMax);
  const below = examples.map(([line, what]) => `  ${line}\n      ${what}`);
  return `\nExamples:\n${(isTooLong ? below : beside).join("\n")}`;
}
