/**
 * When a command must be ended so that nothing of it is left when its lock can be granted again.
 *
 *   renewal sent                  TERM           KILL              granted to others
 *   |-------------------------------|--------------|--------------------|
 *                                       guard ms         margin ms
 *
 * KILL comes at the lease's local deadline, which lies before the engine's end by the margin of
 * docs/spec/locks.md section 8. TERM comes before it by `guardMs`: the grace asked for, but never
 * more than a third of the lease, because a lease is renewed after a third and needs the second
 * third for further tries. The watchdog acts `lagMs` later than the wrapper, so that a command
 * whose wrapper is alive hears of each end once; a quarter of the margin leaves it the rest.
 */
export interface GuardTimes {
  /** The grace between TERM and KILL where the lease does not set bounds. */
  readonly graceMs: number;
  /** The grace between TERM and KILL where the lease is running out. */
  readonly guardMs: number;
  /** How much later than the wrapper the watchdog acts. */
  readonly lagMs: number;
}

/** Parts of a lease that the grace may take: a third. */
const guardParts = 3;
const lagMsMax = 100;

/** The times for a granted lease and the grace asked for. */
export function guardTimes(graceMs: number, leaseMs: number): GuardTimes {
  const guardMs = Math.min(graceMs, Math.floor(leaseMs / guardParts));
  const marginMs = Math.min(1000, Math.max(20, leaseMs / 10));
  return { graceMs, guardMs, lagMs: Math.min(lagMsMax, marginMs / 4) };
}
