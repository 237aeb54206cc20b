import type { Check } from "./check.ts";
import { checkDeadCode } from "./dead-code.ts";
import { checkDependencies } from "./dependencies.ts";
import { checkDocsCode } from "./docs-code.ts";
import { checkFormat } from "./format.ts";
import { checkGlobals } from "./globals.ts";
import { checkHouse } from "./house.ts";
import { checkLint } from "./lint.ts";
import { checkPackages } from "./packages.ts";
import { checkSize } from "./size.ts";
import { checkSpecIds } from "./spec-ids.ts";
import { checkTypes } from "./type-check.ts";
import { checkVerification } from "./verification.ts";

/** Every check, in the order in which they run; `types` builds what later ones use. */
export const CHECKS: readonly Check[] = [
  { name: "types", run: checkTypes },
  { name: "lint", run: checkLint },
  { name: "format", run: checkFormat },
  { name: "dependencies", run: checkDependencies },
  { name: "dead-code", run: checkDeadCode },
  { name: "size", run: checkSize },
  { name: "globals", run: checkGlobals },
  { name: "spec-ids", run: checkSpecIds },
  { name: "docs-code", run: checkDocsCode },
  { name: "packages", run: checkPackages },
  { name: "verification", run: checkVerification },
  { name: "house", run: checkHouse },
];
