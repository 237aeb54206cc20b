import { existsSync, readdirSync, readFileSync } from "node:fs";

/**
 * What signals to the command go to: its process group, or with --foreground only the process
 * itself. A descendant that has left the group is out of reach.
 */
export interface CommandTarget {
  /** As `kill` takes it: a group is a negative number. */
  readonly id: number;
  /** Sends a signal; false when there is nobody left to send it to. */
  signal(name: NodeJS.Signals): boolean;
  /** Whether anything in it still runs; what is dead but not yet waited for does not count. */
  isLive(): boolean;
}

/** The target of a process that was just started. */
export function createTarget(pid: number, isGroup: boolean): CommandTarget {
  const id = isGroup ? -pid : pid;
  return {
    id,
    signal: (name) => sendSignal(id, name),
    isLive: () => sendSignal(id, 0) && (!isGroup || hasLiveMember(pid)),
  };
}

/** True when somebody was there; one whom we may not signal is there all the same. */
function sendSignal(id: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(id, name);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Whether a group has a member that is no zombie. In a container whose first process waits for
 * nobody, zombies stay for ever, and `kill` counts them. Without /proc every member counts.
 */
function hasLiveMember(group: number): boolean {
  if (!existsSync("/proc/self/stat")) return true;
  return readdirSync("/proc").some((entry) => /^\d+$/.test(entry) && isLiveMember(entry, group));
}

function isLiveMember(pid: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command's name stands in brackets and may hold anything; the rest has fixed places.
    const [state, , groupText] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(groupText) === group && state !== "Z" && state !== "X";
  } catch {
    // Gone between the listing and the reading.
    return false;
  }
}
