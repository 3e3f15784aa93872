import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execFile } from "node:child_process";
import { afterAll, expect, it } from "vitest";
import type { DashboardFile } from "./grafana-types.ts";

// The dashboard as it is shipped, held against the types of Grafana's own SDK by the compiler: a name that Grafana does not know, or a
// value that it does not take, is an error there.

const root = fileURLToPath(new URL("../..", import.meta.url));
const dashboard = readFileSync(join(root, "deploy", "grafana", "keywheel.json"), "utf8");

const made: string[] = [];
afterAll(() => {
  for (const file of made) rmSync(file, { force: true });
});

/** @returns what the compiler says of it; empty if Grafana takes it */
async function judge(json: string, name: string): Promise<string> {
  const here = dirname(fileURLToPath(import.meta.url));
  // Beside the types: a file elsewhere would not find the SDK.
  const file = join(here, `judged-${name}.ts`);
  made.push(file);
  writeFileSync(
    file,
    `import type { DashboardFile } from "./grafana-types.ts";\n\nexport const dashboard = ${json.trim()} as const satisfies DashboardFile;\n`,
  );
  const flags =
    "--noEmit --strict --skipLibCheck --target es2024 --module nodenext --allowImportingTsExtensions --types node";
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  return await new Promise((resolve) => {
    execFile(process.execPath, [tsc, "--ignoreConfig", ...flags.split(" "), file], (_, stdout) => resolve(stdout));
  });
}

it("is taken by Grafana's own types", async () => {
  const { panels } = JSON.parse(dashboard) as DashboardFile;
  expect(panels.length).toBeGreaterThan(20);
  expect(await judge(dashboard, "shipped")).toBe("");
}, 60_000);

it.each([
  { what: "a value that an option does not take", from: '"displayMode": "list"', to: '"displayMode": "lsit"' },
  { what: "a field that Grafana does not know", from: '"legendFormat":', to: '"legendformat":' },
  { what: "a panel without its place", from: '"w": 12,', to: '"width": 12,' },
  { what: "a kind of panel that there is not", from: '"type": "timeseries"', to: '"type": "graph2"' },
])(
  "would not be with $what",
  async ({ what, from, to }) => {
    expect(dashboard).toContain(from);

    expect(await judge(dashboard.replace(from, to), what.replaceAll(" ", "-"))).toMatch(/error TS\d+/);
  },
  60_000,
);
