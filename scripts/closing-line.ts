import type { Reporter, SerializedError, TestCase, TestModule } from "vitest/node";

/**
 * Prints the last line of a test run: `12 passed, 0 failed, 0 skipped`.
 *
 * A file that cannot be loaded and an error outside any test each count as one failure, so that
 * a broken file can never look like a smaller, green run. Finding no test at all is a failure too.
 */
export default class ClosingLine implements Reporter {
  private readonly counts = { passed: 0, failed: 0, skipped: 0 };

  onTestCaseResult(testCase: TestCase): void {
    const { state } = testCase.result();
    if (state !== "pending") this.counts[state]++;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const broken = modules.filter((module) => module.errors().length > 0).length;
    const ran = this.counts.passed + this.counts.failed + this.counts.skipped;
    const nothing = ran === 0 ? 1 : 0;
    const failed = Math.max(this.counts.failed + errors.length + broken, nothing);
    // Written at exit: other reporters print their summaries after this call.
    process.once("exit", () => {
      const { passed, skipped } = this.counts;
      process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
    });
  }
}
