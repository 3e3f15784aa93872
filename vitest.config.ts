import { defineConfig } from "vitest/config";

// Vite's own for Node, with ours before them: naming conditions replaces its list.
const conditions = ["source", "module", "node", "development|production"];

export default defineConfig({
  test: {
    passWithNoTests: false,
    // One per core of the machines that CI gives us; tests of time-outs must not fight for the processor.
    maxWorkers: 2,
    projects: [
      {
        // On sources, with nothing built: what the `source` condition of every package.json is for.
        resolve: { conditions },
        ssr: { resolve: { conditions } },
        test: {
          name: "unit",
          globalSetup: ["test/postgres-setup.ts"],
          include: ["packages/**/*.test.{ts,tsx}", "scripts/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: ["**/node_modules/**", "bench/short.test.ts", "bench/.peers/**"],
          testTimeout: 15_000,
        },
      },
      {
        // The data plane once more, over the reference.
        resolve: { conditions },
        ssr: { resolve: { conditions } },
        test: {
          name: "undici-upstream",
          env: { KEYWHEEL_TEST_UPSTREAM_CLIENT: "undici" },
          include: ["packages/gateway/src/data-plane/*.test.ts"],
          testTimeout: 15_000,
        },
      },
      {
        // On the built program, as its users start it.
        resolve: { conditions },
        ssr: { resolve: { conditions } },
        test: {
          name: "program",
          // A dependency of theirs has a condition "source" of its own, which Node would not read below node_modules.
          server: { deps: { inline: [/\/node_modules\/(ai|@ai-sdk|eventsource-parser)\//] } },
          globalSetup: ["test/postgres-setup.ts"],
          include: ["test/**/*.test.ts"],
          exclude: ["**/node_modules/**", "test/faults/**", "test/clients/**"],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Run by themselves: a load of so many requests a second on three gateways leaves the machine nothing for others.
        resolve: { conditions },
        ssr: { resolve: { conditions } },
        test: {
          name: "faults",
          globalSetup: ["test/postgres-setup.ts"],
          include: ["test/faults/**/*.test.ts"],
          hookTimeout: 60_000,
        },
      },
      {
        // `npm run test:clients`: programs of others, more than a gigabyte of them.
        resolve: { conditions },
        ssr: { resolve: { conditions } },
        test: { name: "clients", include: ["test/clients/**/*.test.ts"], hookTimeout: 60_000 },
      },
      {
        // Run by itself, and last: what it measures must not share the machine.
        test: { name: "bench", include: ["bench/short.test.ts"], testTimeout: 300_000 },
      },
    ],
  },
});
