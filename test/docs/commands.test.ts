import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { providerPages } from "../../docs/site/provider-pages.ts";
import { providerPresets } from "../../packages/gateway/src/catalog/presets.ts";
import { ensureBuilt } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { aReader, shellOf } from "./shell.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");

beforeAll(() => ensureBuilt(), 120_000);

/** The pages whose commands are for somebody who has just installed it, and those for somebody who has it set up. */
const written = [
  ["docs/start.md", false],
  ["docs/concepts.md", true],
  ["docs/clients.md", true],
  ["docs/providers.md", true],
  ["docs/api-reference.md", true],
  ["docs/troubleshooting.md", true],
  ["packages/gateway/README.md", false],
] as const;

describe("what a page shows can be typed as it stands", () => {
  it.each(written)("%s", { timeout: 120_000 }, async (path, prepared) => {
    const shown = shellOf(read(path));
    await using reader = await aReader({ prepared });
    if (path.endsWith("troubleshooting.md")) await giveItSomethingToShow(reader.type);

    for (const { heading, code } of shown) {
      const failed = await reader.type(code).catch((error: unknown) => error);
      expect([heading, failed]).toEqual([heading, expect.any(String)]);
    }

    expect(shown).not.toEqual([]);
  });

  // One of each kind; what the others show differs from it by their name alone.
  it("the generated pages of providers", { timeout: 120_000 }, async () => {
    await using reader = await aReader({ prepared: false });
    const shown = new Map(providerPresets.map((preset) => [preset, codeOf(pageFor(preset.slug))]));
    const examples = ["openai", "anthropic", "gemini", "azure", "groq"];

    for (const [{ slug }, code] of shown) {
      if (!examples.includes(slug)) continue;
      const failed = await reader.type(code).catch((error: unknown) => error);
      expect([slug, failed]).toEqual([slug, expect.any(String)]);
    }

    const shapes = [...shown].map(([{ kind, slug }, code]) => {
      const shape = code.replaceAll(slug.toUpperCase(), "NAME").replaceAll(new RegExp(`\\b${slug}\\b`, "g"), "name");
      return [kind, shape.replace("connect name", "connect openai")] as const;
    });
    expect(shown.size).toBeGreaterThan(20);
    expect(new Set(shapes.map((shape) => shape.join(": "))).size).toBe(new Map(shapes).size);
  });
});

function pageFor(slug: string): string {
  return providerPages("en").find(({ target }) => target === `providers/${slug}`)?.text ?? "";
}

function codeOf(text: string): string {
  return shellOf(text)
    .map(({ code }) => code)
    .join("\n");
}

async function giveItSomethingToShow(type: (code: string) => Promise<string>): Promise<void> {
  await type(
    `curl -s http://127.0.0.1:8787/openai/v1/chat/completions -H 'content-type: application/json' -H 'x-keywheel-session: chat-42' \\
      -d '{"model": "gpt-test", "messages": [{"role": "user", "content": "Hello"}]}'`,
  );
}

describe("what a page promises of what it shows", () => {
  it("the first request is answered, and names the key", async () => {
    await using reader = await aReader({ prepared: true });
    const request = shellOf(read("docs/start.md")).find(({ heading }) => heading === "Send a request");

    const printed = await reader.type(request?.code ?? "");

    expect(printed).toMatch(/^HTTP\/1\.1 200/);
    expect(printed).toMatch(/^x-keywheel-key: key_/m);
    expect(printed).toMatch(/^x-keywheel-attempts: 1/m);
  });

  it("the preview shows the turns that the weights give", async () => {
    await using reader = await aReader({ prepared: true });
    await reader.type("keywheel key set Ada --weight 2");
    const preview = shellOf(read("docs/concepts.md")).find(({ heading }) => heading === "The wheel");

    const { data } = JSON.parse(await reader.type(preview?.code ?? "")) as { readonly data: readonly string[] };

    const [first, , other] = data;
    expect(data).toEqual([first, first, other, first, first, other]);
  });
});

describe("the Korean pages", () => {
  const twins = ["start", "concepts", "clients", "providers", "api-reference", "troubleshooting"];

  it.each(twins)("%s shows the same commands as its English twin", (name) => {
    const code = codeOf(read(`docs/ko/${name}.md`));

    expect(code).toBe(codeOf(read(`docs/${name}.md`)));
    expect(code).not.toBe("");
  });

  it.each([...twins, "comparison"])("%s has the parts and tables of its English twin", (name) => {
    const shapeOf = (path: string) => read(path).match(/^#+(?= )|^\| -/gm);

    expect(shapeOf(`docs/ko/${name}.md`)).toEqual(shapeOf(`docs/${name}.md`));
  });

  it("are all held to their twins here, but for those with no commands", () => {
    const names = readdirSync(join(root, "docs/ko"))
      .filter((name) => /^```sh$/m.test(read(`docs/ko/${name}`)))
      .map((name) => name.replace(/\.md$/, ""));

    expect(names.sort()).toEqual(twins.toSorted());
  });
});
