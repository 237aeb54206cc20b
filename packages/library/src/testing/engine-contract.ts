import { callCases } from "./contract-calls.ts";
import { decisionCases } from "./contract-decisions.ts";
import { listingCases } from "./contract-listing.ts";
import { casesOf } from "./contract-world.ts";
import type { ContractCase, ContractStore } from "./contract-world.ts";

/**
 * The cases that every engine must pass, each in a world of its own.
 *
 * `setup` gives two independent clients of one fresh store. The cases use `node:assert` and no test
 * runner: `for (const { title, run } of engineContract(setup)) test(title, run)`. Where an engine
 * declares a lower capability, the case asks for no more than that.
 */
export function engineContract(setup: () => Promise<ContractStore>): readonly ContractCase[] {
  return [decisionCases, callCases, listingCases].flatMap((bodies) => casesOf(setup, bodies));
}
