import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

/** Calendars that a running process is moved to, as `faketime -f` reads them. */
const shifts = ["+1h", "-1h", "+30d", "-30d", "+10m", "-10m", "+1y", "+0"] as const;

/**
 * A calendar that can be set under running processes, by the library of Debian's `faketime`. Their
 * monotonic clock is left alone: without that the shift would show nothing.
 */
export class CalendarShift {
  readonly #file: string;
  #turn = 0;

  /** `file` is read by the processes at each look at their clock. */
  constructor(file: string) {
    this.#file = file;
    writeFileSync(file, "+0\n");
  }

  /** What a process must be started with. */
  get env(): NodeJS.ProcessEnv {
    const faked = execFileSync("faketime", ["-f", "+0", "printenv", "LD_PRELOAD"], {
      encoding: "utf8",
    });
    return {
      LD_PRELOAD: faked.trim(),
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      NO_FAKE_STAT: "1",
    };
  }

  /** Sets the calendar of all processes to the next of the shifts. */
  next(): void {
    writeFileSync(this.#file, `${shifts[this.#turn % shifts.length]}\n`);
    this.#turn += 1;
  }
}
