import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { runGateway, type RunningGateway, type ScriptedProvider, startScriptedProvider } from "@keywheel/testkit";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/root.mjs";
import { aReader } from "./shell.ts";

const run = promisify(execFile);
const pages = join(root, "docs", "clients");

interface Snippet {
  readonly page: string;
  readonly number: number;
  readonly language: string;
  readonly code: string;
}

/** Pages of programs: `npm run test:clients` does what they say. */
const programs = ["claude-code", "codex", "gemini-cli", "opencode"];

const names = readdirSync(pages)
  .filter((name) => name.endsWith(".md"))
  .map((name) => name.replace(/\.md$/, ""));
const snippets = names
  .filter((page) => !programs.includes(page))
  .flatMap((page) =>
    [...readFileSync(join(pages, `${page}.md`), "utf8").matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(
      ([, language = "", code = ""], at): Snippet => ({ page, number: at + 1, language, code }),
    ),
  );
const typescript = snippets.filter(({ language }) => language === "ts");
const shell = snippets.filter(({ page, code }) => page !== "README" && code.startsWith("curl "));
const [fromOwnFolder, ...fromElsewhere] = snippets.filter(({ page }) => page === "README");
/** How one comes to the first answer: what is typed, and a file that is written. */
const steps = snippets.filter(
  ({ page, language, code }) => page !== "README" && language === "sh" && !shell.some((one) => one.code === code),
);

const slugs = ["openai", "anthropic", "gemini"] as const;

let gateway: RunningGateway;
const providers: ScriptedProvider[] = [];
beforeAll(async () => {
  gateway = await runGateway();
  for (const kind of slugs) {
    const keys = ["A", "B", "C"].map((letter) => `sk-test-${kind}-${letter}-0123456789abcdef`);
    const provider = await startScriptedProvider({ kind, keys });
    providers.push(provider);
    const record = await gateway.addProvider({ kind, baseUrl: provider.baseUrl });
    await gateway.addKeys(record, keys);
  }
  return async () => {
    await gateway[Symbol.asyncDispose]();
    for (const provider of providers) await provider.close();
  };
});

let folder: string;
beforeEach(() => {
  // Where packages are found as they are from the tests.
  const parent = join(root, "test", "docs", ".snippets");
  mkdirSync(parent, { recursive: true });
  folder = mkdtempSync(join(parent, "run-"));
  return () => rmSync(folder, { recursive: true, force: true });
});

const here = (code: string): string => code.replaceAll("http://127.0.0.1:8787", gateway.url);

/** What the stand-ins of the providers were asked since the last look; none of it with a credential out of place. */
function requestsSince(): number {
  const count = providers.reduce((sum, { requests }) => sum + requests.length, 0);
  expect(providers.flatMap(({ faults }) => faults)).toEqual([]);
  for (const provider of providers) provider.forget();
  return count;
}

describe("the pages of clients", () => {
  it("are all listed on the first, and have nothing but what is run here or by npm run test:clients", () => {
    const list = readFileSync(join(pages, "README.md"), "utf8");

    for (const name of names.filter((one) => one !== "README")) expect(list).toContain(`](${name}.md)`);
    const tried = new Set([...typescript, ...shell, ...steps, fromOwnFolder, ...fromElsewhere]);
    expect(snippets.filter((one) => !tried.has(one))).toEqual([]);
    expect(typescript.length).toBeGreaterThan(10);
    expect(shell.length).toBeGreaterThan(3);
  });

  it("have snippets that compile", async () => {
    for (const { page, number, code } of typescript) writeFileSync(join(folder, `${page}-${number}.ts`), code);
    const config = {
      extends: join(root, "tsconfig.json"),
      compilerOptions: { types: ["node"], typeRoots: [join(root, "node_modules", "@types")] },
      include: ["*.ts"],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");

    await expect(run(process.execPath, [compiler, "-p", folder])).resolves.toMatchObject({ stdout: "" });
  });

  it.each(typescript.map((one) => [`${one.page} ${one.number}`, one] as const))("run: %s", async (name, { code }) => {
    const file = join(folder, `${name.replace(" ", "-")}.ts`);
    writeFileSync(file, here(code));

    const { stdout } = await run(process.execPath, ["--no-warnings", file], { env: { PATH: process.env["PATH"] } });

    expect(stdout).toMatch(/Hello|^\d+$/m);
    expect(requestsSince()).toBe(1);
  });

  it.each([...new Set(steps.map(({ page }) => page))])(
    "lead somebody who has nothing but a clone and the page to an answer: %s",
    { timeout: 60_000 },
    async (page) => {
      await using reader = await aReader({ prepared: false });
      const written = /^In `([\w.]+)`:\n\n```ts\n(.*?)^```$/ms.exec(readFileSync(join(pages, `${page}.md`), "utf8"));

      const printed: string[] = [];
      for (const { code } of steps.filter((one) => one.page === page)) {
        if (code.startsWith("node ")) {
          const [, file = "", text = ""] = written ?? [];
          writeFileSync(join(reader.folder, file), text.replaceAll("http://127.0.0.1:8787", reader.gateway.url));
        }
        printed.push(await reader.type(code));
      }
      for (const { code } of shell.filter((one) => one.page === page)) printed.push(await reader.type(code));

      expect(printed.at(-1)).toContain("Hello");
    },
  );

  it("tell how a file is written where one is, with the clone elsewhere", { timeout: 60_000 }, async () => {
    await using reader = await aReader({ prepared: true });

    await reader.type(`mkdir program && cd program\n${fromOwnFolder?.code}`);

    const env = readFileSync(join(reader.folder, "program", ".env"), "utf8");
    expect(env).toContain(`OPENAI_BASE_URL=${reader.gateway.url}/openai/v1`);
  });

  it("connect a client from another machine", async () => {
    const { token } = await gateway.api<{ token: string }>("POST", "/tokens", { name: "ada" });
    mkdirSync(join(folder, "bin"));
    // One that runs what is installed here, and asks no registry.
    writeFileSync(join(folder, "bin", "npx"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
    const path = [join(folder, "bin"), join(root, "node_modules", ".bin"), process.env["PATH"] ?? ""].join(delimiter);
    const [snippet, ...others] = fromElsewhere;
    const code = (snippet?.code ?? "").replace("http://gateway.example:8787", gateway.url).replace("kw_…", token);

    await run("sh", ["-ec", code], { cwd: folder, env: { HOME: folder, PATH: path } });

    const settings = JSON.parse(readFileSync(join(folder, ".claude", "settings.json"), "utf8")) as unknown;
    expect(settings).toEqual({
      env: { ANTHROPIC_BASE_URL: `${gateway.url}/anthropic`, ANTHROPIC_AUTH_TOKEN: token },
    });
    expect(others).toEqual([]);
  });

  it.each(shell.map((one) => [`${one.page} ${one.number}`, one] as const))(
    "run in a shell: %s",
    async (_, { code }) => {
      const { stdout } = await run("sh", ["-ec", here(code)], { cwd: folder });

      expect(stdout).toContain("Hello");
      expect(requestsSince()).toBe(1);
    },
  );
});
