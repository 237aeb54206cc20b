import * as acquire from "../../src/core/lock/acquire.ts";
import * as cancel from "../../src/core/lock/cancel.ts";
import * as force from "../../src/core/lock/force.ts";
import * as look from "../../src/core/lock/look.ts";
import * as release from "../../src/core/lock/release.ts";
import * as renew from "../../src/core/lock/renew.ts";
import * as resume from "../../src/core/lock/resume.ts";
import * as spaceRecords from "../../src/core/lock/space-records.ts";
import * as sweep from "../../src/core/lock/sweep.ts";
import * as sqliteFence from "../../src/fence/sqlite-fence.ts";
import * as attemptState from "../../src/lock/attempt-state.ts";
import * as leaseState from "../../src/lock/lease-state.ts";

/**
 * The functions that the explorer runs: the production decisions, the production step logic of the
 * shells, and a fence. A mutant is a machine whose modules were loaded from a copy with one changed
 * line, or one whose engine keeps a promise badly.
 */
export interface Machine {
  readonly acquire: typeof acquire;
  readonly cancel: typeof cancel;
  readonly force: typeof force;
  readonly look: typeof look;
  readonly release: typeof release;
  readonly renew: typeof renew;
  readonly resume: typeof resume;
  readonly spaceRecords: typeof spaceRecords;
  readonly sweep: typeof sweep;
  readonly attempt: typeof attemptState;
  readonly lease: typeof leaseState;
  readonly fence: typeof sqliteFence;
  readonly engine: EngineModel;
}

/** What the explorer's engine and shell promise; the mutants break one promise each. */
export interface EngineModel {
  /** An outcome is told only when its commit is known (M1). */
  readonly tellsUncommitted: boolean;
  /** Keys of this kind are compared when a commit arrives (M7). */
  readonly isCompared: (kind: string) => boolean;
  /** A local deadline counts from before the request left (M23). */
  readonly countsFromReply: boolean;
}

export const engineModel: EngineModel = Object.freeze({
  tellsUncommitted: false,
  isCompared: () => true,
  countsFromReply: false,
});

export const production: Machine = Object.freeze({
  acquire,
  cancel,
  force,
  look,
  release,
  renew,
  resume,
  spaceRecords,
  sweep,
  attempt: attemptState,
  lease: leaseState,
  fence: sqliteFence,
  engine: engineModel,
});
