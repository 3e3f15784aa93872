import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { rooms } from "../../oxlint.config.ts";
import { root } from "./root.mjs";
import { run } from "./run.mjs";

const scratch = mkdtempSync(join(tmpdir(), "keywheel-lint-"));
/** Rules that were broken, by file. */
const found = new Map<string, string[]>();

const arrows = "eslint(no-restricted-imports)";
const cases: readonly (readonly [file: string, line: string, rule: string | undefined])[] = [
  ["pool/src/rules/own.ts", `export { a } from "./time.ts";`, undefined],
  ["pool/src/rules/up.ts", `export { a } from "../ports/clock.ts";`, arrows],
  ["pool/src/rules/up-type.ts", `export type { A } from "../ports/clock.ts";`, arrows],
  ["pool/src/rules/builtin.ts", `export { readFileSync } from "node:fs";`, arrows],
  ["pool/src/rules/clock.ts", `export const now = (): number => Date.now();`, "eslint(no-restricted-properties)"],
  ["pool/src/rules/chance.ts", `export const roll = (): number => Math.random();`, "eslint(no-restricted-properties)"],
  ["pool/src/ports/type.ts", `export type { A } from "../rules/time.ts";`, undefined],
  ["pool/src/ports/value.ts", `export { a } from "../rules/time.ts";`, arrows],
  ["pool/src/providers/port-type.ts", `export type { A } from "../ports/clock.ts";`, undefined],
  ["pool/src/providers/port.ts", `export { a } from "../ports/clock.ts";`, arrows],
  ["pool/src/pool.ts", `export { a } from "./dispatch.ts";`, arrows],
  ["pool/src/dispatch.ts", `export { a } from "./rules/time.ts";`, undefined],
  ["gateway/src/store/kysely.ts", `export { Kysely } from "kysely";`, undefined],
  ["gateway/src/store/deep/own.ts", `export { a } from "../schema.ts";`, undefined],
  ["gateway/src/store/deep/plane.ts", `export { a } from "../../control-plane/app.ts";`, arrows],
  ["gateway/src/data-plane/kysely.ts", `export { Kysely } from "kysely";`, arrows],
  ["gateway/src/data-plane/store.ts", `export { a } from "../store/sqlite.ts";`, arrows],
  ["gateway/src/data-plane/store-type.ts", `export type { A } from "../store/store.ts";`, undefined],
  ["gateway/src/data-plane/late.ts", `export const a = await import("../store/sqlite.ts");`, arrows],
  ["gateway/src/telemetry/plane.ts", `export { a } from "../data-plane/proxy.ts";`, arrows],
  ["gateway/src/cli/all.ts", `export { a } from "../store/sqlite.ts";`, undefined],
  ["gateway/src/state/float.ts", `Promise.resolve(1);`, "typescript(no-floating-promises)"],
  ["gateway/src/state/misuse.ts", `[1].forEach(async () => {});`, "typescript(no-misused-promises)"],
  ["gateway/src/state/any.ts", `export let a: any;`, "typescript(no-explicit-any)"],
  ["gateway/src/state/bang.ts", `export const a = [1][0]!;`, "typescript(no-non-null-assertion)"],
  ["gateway/src/state/bang.test.ts", `export const a = [1][0]!;`, undefined],
  ["gateway/src/state/default.ts", `export default 1;`, "import(no-default-export)"],
  [
    "gateway/src/state/silent.test.ts",
    `import { it } from "vitest"; it("is silent", () => {});`,
    "vitest(expect-expect)",
  ],
  [
    "gateway/src/state/property.test.ts",
    `import fc from "fast-check"; import { it } from "vitest"; it("holds", () => { fc.assert(fc.property(fc.nat(), (n) => n >= 0)); });`,
    undefined,
  ],
];

beforeAll(async () => {
  for (const name of ["oxlint.config.ts", "tsconfig.json", "tsconfig.base.json"]) {
    cpSync(join(root, name), join(scratch, name));
  }
  symlinkSync(join(root, "node_modules"), join(scratch, "node_modules"));
  writeFileSync(join(scratch, "package.json"), `{ "type": "module" }`);
  for (const [file, line] of cases) {
    const path = join(scratch, "packages", file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${line}\n`);
  }

  const { output } = await run("oxlint", ["--format=json", "packages"], { capture: true, cwd: scratch });
  const { diagnostics } = JSON.parse(output) as { diagnostics: { filename: string; code: string }[] };
  for (const { filename, code } of diagnostics) found.set(filename, [...(found.get(filename) ?? []), code]);
});

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

it.each(cases.filter(([, , rule]) => rule !== undefined))("refuses packages/%s: %s", (file, _, rule) => {
  expect(found.get(`packages/${file}`)).toContain(rule);
});

it.each(cases.filter(([, , rule]) => rule === undefined))("lets packages/%s pass: %s", (file) => {
  expect(found.get(`packages/${file}`) ?? []).toEqual([]);
});

it("has a list of what it may import for every room there is", () => {
  const folders = readdirSync(join(root, "packages")).flatMap((name) =>
    readdirSync(join(root, "packages", name, "src"), { withFileTypes: true })
      .filter((entry) => (name === "pool" ? !/^index|\.test(-d)?\.ts$/.test(entry.name) : entry.isDirectory()))
      .map((entry) => `${name}/src/${entry.name}`),
  );

  const unlisted = folders.filter(
    (folder) => !rooms.some(({ path }) => folder === path || folder.startsWith(`${path}/`)),
  );

  expect(unlisted).toEqual([]);
});
