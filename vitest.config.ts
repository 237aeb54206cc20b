import { defaultServerConditions } from "vite";
import { defineConfig } from "vitest/config";

// The private condition lets tests run the sources without a build. The defaults must be kept:
// without them CommonJS packages are loaded in the wrong form.
const conditions = ["leasehold-src", ...defaultServerConditions];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    reporters: ["default", "./scripts/closing-line.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    coverage: { provider: "v8", include: ["packages/*/src/**"] },
    // Two groups, one after the other: the house checks keep both cores busy, and tests with
    // real timers and processes must not share the machine with a compiler.
    projects: [
      {
        extends: true,
        test: {
          name: "house",
          include: ["test/**/*.test.ts"],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "packages",
          include: ["packages/*/test/**/*.test.ts", "packages/*/src/**/*.test.ts"],
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
