/**
 * One line of the report; `ratio` is ours to the peer's, so more than 1 is better than the peer.
 */
export interface Result {
  readonly case: string;
  readonly ours: number;
  readonly peer: string;
  readonly peerRate: number;
  readonly ratio: number;
  readonly [more: string]: number | string | boolean;
}
