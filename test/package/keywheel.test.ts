import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { homedir, userInfo } from "node:os";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { launchBrowser } from "../pages/browser.ts";
import { eventually } from "../pooled-provider.ts";
import { startRegistry } from "./registry.ts";
import { aUser, packAll, type Packed, type User } from "./user.ts";

let packed: Packed;
let user: User;
let installed: string;
beforeAll(async () => {
  await ensureBuilt();
  packed = await packAll();
  const registry = await startRegistry(packed.tarballs);
  user = aUser(registry.url);
  installed = join(user.folder, "node_modules", "keywheel");
  await user.install("keywheel");
  return async () => {
    user[Symbol.dispose]();
    packed[Symbol.dispose]();
    await registry[Symbol.asyncDispose]();
  };
}, 120_000);

const tarballOf = (name: string): string => packed.tarballs.find((path) => path.includes(`/${name}-`)) ?? "";

describe("the package of the gateway", () => {
  it("brings program, pages and licences, and nothing of ours that nobody there needs", () => {
    const files = packed.files["keywheel"] ?? [];

    const needed = ["LICENSE", "README.md", "bin/keywheel.mjs", "dist/cli/main.js", "dist/ui/index.html"];
    const licences = ["dist/third-party-licenses.txt", "dist/ui/third-party-licenses.md"];
    expect(files).toEqual(expect.arrayContaining([...needed, ...licences]));
    expect(files.filter((path) => /\.test(-d|-bench)?\.|tsbuildinfo|fixtures|build-stamp|\.env/.test(path))).toEqual(
      [],
    );
  });

  it("names no place of this machine", () => {
    const places = [`${root}/`, `${homedir()}/`, `/home/${userInfo().username}/`];
    const files = readdirSync(installed, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());

    const found = files
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !path.startsWith(join(installed, "node_modules")))
      .filter((path) => places.some((place) => readFileSync(path, "utf8").includes(place)));
    expect(files.length).toBeGreaterThan(100);
    expect(found).toEqual([]);
  });

  it.each([
    [
      "the program",
      "gateway",
      "devDependencies",
      "dist/third-party-licenses.txt",
      /^([@a-z][^ \n]+) (\S+) \(([^)\n]+)\)$/gm,
    ],
    ["the pages", "ui", "dependencies", "dist/ui/third-party-licenses.md", /^## (\S+) - (\S+) \((.+)\)$/gm],
  ] as const)("has the licence of every package that %s is built from", (_, folder, field, file, entry) => {
    const told = [...readFileSync(join(installed, file), "utf8").matchAll(entry)];
    const manifest = JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8")) as Record<
      typeof field,
      Readonly<Record<string, string>>
    >;

    const known = new Set(told.map(([, name, version]) => `${name}@${version}`));
    const needed = Object.entries(manifest[field]).filter(([name]) => !/^@(keywheel|types)\//.test(name));
    expect(needed.length).toBeGreaterThan(10);
    expect(needed.filter(([name, version]) => !known.has(`${name}@${version}`))).toEqual([]);
    const licences = told.flatMap(([, , , words = ""]) => words.split(/ AND | OR /));
    expect(licences.filter((name) => !/^(MIT|ISC|0BSD|BSD-[23]-Clause|Apache-2\.0)$/.test(name))).toEqual([]);
  });

  it("needs nothing beside it", () => {
    const lock = JSON.parse(readFileSync(join(user.folder, "package-lock.json"), "utf8")) as {
      readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>;
    };

    expect(Object.keys(lock.packages)).toEqual(["", "node_modules/keywheel"]);
    expect(lock.packages["node_modules/keywheel"]?.hasInstallScript).toBeUndefined();
  });

  it("is found without fault by publint", async () => {
    const tarball = new Uint8Array(await readFile(tarballOf("keywheel"))).buffer;

    const { messages } = await publint({ pack: { tarball }, strict: true });

    expect(messages).toEqual([]);
  });

  it("is a program: there is nothing in it to import, and are-the-types-wrong finds no types that could be", async () => {
    const { exports, main, types } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<
      string,
      unknown
    >;

    const result = await checkPackage(createPackageFromTarballData(await readFile(tarballOf("keywheel"))));

    expect([exports, main, types]).toEqual([undefined, undefined, undefined]);
    expect(result.types).toBe(false);
  });

  it.each(["gateway", "pool"])("carries the licence of the whole: %s", (name) => {
    const read = (path: string) => readFileSync(join(root, path), "utf8");

    expect(read(`packages/${name}/LICENSE`)).toBe(read("LICENSE"));
  });
});

describe("in an empty folder elsewhere", () => {
  it("`npx keywheel` works with nothing installed, and `keywheel` once it is installed for all folders", async () => {
    const [, registry = ""] =
      /^registry=(.*)$/m.exec(readFileSync(join(user.env["HOME"] ?? "", ".npmrc"), "utf8")) ?? [];
    using stranger = aUser(registry);

    const called = await stranger.run("npx", ["--yes", "keywheel", "version"]);
    await stranger.install("--global", "keywheel");
    const installedCall = await stranger.run("keywheel", ["version"]);

    expect([called.code, called.stdout]).toEqual([0, expect.stringMatching(/^keywheel \d+\.\d+\.\d+/)]);
    expect(installedCall).toEqual({ ...called, stderr: "" });
    expect(readdirSync(stranger.folder)).toEqual([]);
  });

  it("`npx keywheel demo` tells its story", async () => {
    const { code, stdout, stderr } = await user.run("npx", ["keywheel", "demo", "--no-open", "--seconds", "8"]);

    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/Ben's key got a 429.*Cleo's key got a 401.*none failed\. The demo is over/s);
  });

  it("`keywheel start` serves, shows its pages and ends when told to", async () => {
    const flags = ["--port", "0", "--data-dir", "data", "--ready-file", "ready.json"];
    const child = user.spawn(join(user.folder, "node_modules/.bin/keywheel"), ["start", ...flags]);
    const ended = once(child, "exit");
    let said = "";
    child.stdout?.on("data", (piece) => (said += String(piece)));
    const ready = join(user.folder, "ready.json");
    await eventually(() => Promise.resolve(existsSync(ready)), Boolean, { what: "the gateway to be ready" });
    const { url } = JSON.parse(readFileSync(ready, "utf8")) as { readonly url: string };
    const link = /https?:\/\/\S+\/ui\/sign-in\?code=\S+/.exec(said)?.[0];
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(link ?? `${url}/ui/`);
      await page.getByRole("heading", { level: 1 }).waitFor();

      expect(page.url()).not.toContain("sign-in");
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    } finally {
      await browser.close();
      child.kill("SIGTERM");
    }

    expect(await ended).toEqual([0, null]);
  });
});
