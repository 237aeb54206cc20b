/**
 * Scalars of the domain, each with its unit in its name.
 *
 * They are flavours rather than closed brands: a plain number may be given where one is asked for,
 * but an instant of one clock can never stand where an instant of the other is expected.
 */
declare const flavour: unique symbol;
type Flavour<Base, Name extends string> = Base & { readonly [flavour]?: Name };

/**
 * Engine time: integer milliseconds since the Unix epoch, as the engine puts it into a snapshot.
 */
export type EpochMs = Flavour<number, "EpochMs">;
/** An instant of one process's monotonic clock; comparable within that process only. */
export type MonotonicMs = Flavour<number, "MonotonicMs">;
/** A length of time in integer milliseconds. */
export type DurationMs = Flavour<number, "DurationMs">;
/** A grant's place in the history of its lock; a safe integer from 1 on, public. */
export type FencingToken = Flavour<number, "FencingToken">;

/** A value as JSON can hold it. Absent members are left out, never `undefined`. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [member: string]: Json };
