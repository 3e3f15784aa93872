import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createPackageFromTarballData, checkPackage } from "@arethetypeswrong/core";
import { publint } from "publint";
import { beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { packLibrary, type PackedLibrary, run } from "./packed.ts";

let packed: PackedLibrary;
beforeAll(async () => {
  await ensureBuilt();
  packed = await packLibrary();
  return () => packed[Symbol.asyncDispose]();
});

const program = `
import { createPool, isKeywheelError, providers } from "@keywheel/pool";
await using pool = createPool({
  provider: providers.openai,
  keys: ["sk-test-0123456789", "$NOT_SET"],
  fetch: async (url, init) => Response.json({ url, key: init.headers.get("authorization") }),
});
const response = await pool.fetch()("https://api.openai.com/v1/models");
console.log(JSON.stringify([await response.json(), (await pool.keys()).map((key) => key.status)]));
`;

describe("the package", () => {
  it("works in a folder that has nothing else", async () => {
    await writeFile(join(packed.folder, "program.mjs"), program);

    const printed = await run(process.execPath, ["program.mjs"], packed.folder);

    expect(JSON.parse(printed)).toEqual([
      { url: "https://api.openai.com/v1/models", key: "Bearer sk-test-0123456789" },
      ["available", "unresolved"],
    ]);
  });

  it("works for programs that are CommonJS", async () => {
    const text = 'console.log(typeof require("@keywheel/pool").createPool)';
    await writeFile(join(packed.folder, "program.cjs"), text);

    expect(await run(process.execPath, ["program.cjs"], packed.folder)).toBe("function\n");
  });

  it.each([
    ["a browser's", ["ES2024", "ESNext.Disposable", "DOM"], []],
    ["Node's", ["ES2024"], ["node"]],
  ])("has types that hold under %s, with nothing skipped", async (_, lib, types) => {
    const file = join(packed.folder, "program.ts");
    await writeFile(
      file,
      `import { createPool, type KeyPool, type PoolSnapshot, providers } from "@keywheel/pool";
       const pool: KeyPool = createPool({ provider: providers.anthropic, keys: ["$KEY"] });
       export const call: typeof globalThis.fetch = pool.fetch("chat");
       pool.on("key-disabled", ({ keyId, reason }) => [keyId.length, reason satisfies string]);
       export const snapshot: Promise<PoolSnapshot> = pool.snapshot();
       // @ts-expect-error a provider is a value, not a word
       createPool({ provider: "openai", keys: [] });`,
    );
    const options = { strict: true, skipLibCheck: false, noEmit: true, module: "nodenext", target: "ES2024" };
    const typeRoots = [join(root, "node_modules", "@types")];
    const config = { compilerOptions: { ...options, lib, types, typeRoots }, files: ["program.ts"] };
    await writeFile(join(packed.folder, "tsconfig.json"), JSON.stringify(config));

    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");

    await expect(run(process.execPath, [compiler, "-p", "."], packed.folder)).resolves.toBe("");
  });

  it("has no dependencies, and nothing of ours in it but sources and what was made of them", async () => {
    const { dependencies, peerDependencies, optionalDependencies } = JSON.parse(
      await readFile(join(packed.folder, "node_modules", "@keywheel", "pool", "package.json"), "utf8"),
    ) as Record<string, unknown>;

    expect([dependencies, peerDependencies, optionalDependencies]).toEqual([undefined, undefined, undefined]);
    expect(packed.files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "dist/index.js", "dist/index.d.ts"]));
    expect(packed.files.filter((path) => /\.test(-d|-bench)?\.|tsbuildinfo/.test(path))).toEqual([]);
  });

  it("is found without fault by publint", async () => {
    const { messages } = await publint({ pkgDir: join(root, "packages", "pool"), pack: "npm", strict: true });

    expect(messages).toEqual([]);
  });

  it("has types that are found wherever ESM is", async () => {
    const tarball = createPackageFromTarballData(await readFile(packed.tarball));

    const result = await checkPackage(tarball);

    if (!result.types) throw new Error("There are no types in it.");
    // Node 10's way of finding files knows no `exports`, and `require` of a module has its own test above.
    const others = result.problems.filter(
      ({ kind, ...problem }) =>
        kind !== "CJSResolvesToESM" && !("resolutionKind" in problem && problem.resolutionKind === "node10"),
    );
    expect(others).toEqual([]);
  });
});
