import { fileURLToPath } from "node:url";

/** What a check found. It passes when there is no problem. */
export interface Finding {
  /** Each says where, what, and what to do. */
  readonly problems: readonly string[];
  /** What was looked at, so that a check of nothing is seen. */
  readonly note: string;
}

export interface Check {
  /** The word after `npm run check --`. */
  readonly name: string;
  readonly run: () => Promise<Finding>;
}

/** The root folder of the repository, with a slash at its end. */
export const ROOT: string = fileURLToPath(new URL("../../", import.meta.url));
