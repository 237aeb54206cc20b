import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";

/** Where Debian has the library; the linker puts the folder of the architecture in for `$LIB`. */
const fakedTime = "/usr/$LIB/faketime/libfaketime.so.1";
const sharedMemory = "/dev/shm";
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
    dropLeftOvers();
  }

  /**
   * What a process must be started with. The command `faketime` does the same, but cannot read the
   * shift from a file.
   */
  get env(): NodeJS.ProcessEnv {
    return {
      LD_PRELOAD: fakedTime,
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
    dropLeftOvers();
  }
}

/**
 * Removes what the library has left in shared memory for processes that were killed. It is named
 * after the process id, and the next process of that id could not start.
 */
function dropLeftOvers(): void {
  if (!existsSync(sharedMemory)) return;
  for (const name of readdirSync(sharedMemory)) {
    const [, pid] = /^(?:sem\.)?faketime_\w+_(\d+)$/.exec(name) ?? [];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    rmSync(`${sharedMemory}/${name}`, { force: true });
  }
}
