import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ScriptedProvider, startScriptedProvider } from "@keywheel/testkit";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { root } from "../../scripts/lib/root.mjs";
import { run } from "./packed.ts";
import { homes, numberedKeys, readme, reference, snippets, values } from "./snippets.ts";

let folder: string;
const files: string[] = [];
beforeAll(async () => {
  // Where packages are found as they are from the tests.
  const parent = join(root, "test", "library", ".snippets");
  await mkdir(parent, { recursive: true });
  folder = await mkdtemp(join(parent, "run-"));
  for (const [at, { code }] of snippets.entries()) {
    const file = join(folder, `snippet-${at}.ts`);
    files.push(file);
    await writeFile(file, code);
  }
  return () => rm(folder, { recursive: true, force: true });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  process.chdir(root);
});

/** Sends what goes to a provider to its scripted stand-in instead. */
async function scriptProviders(): Promise<ReadonlyMap<string, ScriptedProvider>> {
  const started = new Map<string, ScriptedProvider>();
  for (const [origin, kind] of Object.entries(homes))
    started.set(origin, await startScriptedProvider({ kind, keys: numberedKeys }));
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", (input: string | URL | Request, init?: RequestInit) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const standIn = started.get(url.origin);
    if (standIn === undefined) throw new Error(`The snippet asks for ${url.href}`);
    return fetch(`${standIn.origin}${url.pathname}${url.search}`, init);
  });
  return started;
}

describe("the snippets of README and reference", () => {
  it("are there", () => {
    expect(reference).toHaveLength(6);
    expect(readme.map(({ heading }) => heading)).toEqual([
      "Three lines",
      "Other SDKs",
      "Other SDKs",
      "Other SDKs",
      "Keys",
      "Keys",
      "Sessions",
      "When something goes wrong",
      "Over a restart",
      "Cloudflare Workers",
    ]);
  });

  it("compile, with nothing overlooked", async () => {
    const config = {
      extends: join(root, "tsconfig.json"),
      compilerOptions: { types: ["node"], typeRoots: [join(root, "node_modules", "@types")] },
      include: ["*.ts"],
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");

    await expect(run(process.execPath, [compiler, "-p", folder], root)).resolves.toBe("");
  });

  it.each(snippets.map(({ heading, code }, at) => [heading, code, at] as const))("run: %s", async (_, code, at) => {
    for (const [name, value] of values) vi.stubEnv(name, value);
    const printed: unknown[] = [];
    vi.spyOn(console, "log").mockImplementation((...words) => printed.push(...words));
    vi.spyOn(process.stdout, "write").mockImplementation((text) => printed.push(text) > 0);
    const started = await scriptProviders();
    process.chdir(folder);

    const module = (await import(/* @vite-ignore */ files[at]!)) as { default?: { fetch: Worker } };
    const answer = await module.default?.fetch(new Request("http://worker.example/"), Object.fromEntries(values));

    const picks = [...started.values()].map((provider) => provider.picks()).join("");
    for (const provider of started.values()) {
      expect(provider.faults).toEqual([]);
      await provider.close();
    }
    const asks = /client|chat|streamText|\.fetch\(\)\(/.test(code);
    expect(picks === "").toBe(!asks);
    expect(printed.join("") === "").toBe(!/console\.log|stdout/.test(code));
    expect(answer?.status ?? 200).toBe(200);
  });
});

type Worker = (request: Request, env: Record<string, unknown>) => Promise<Response>;
