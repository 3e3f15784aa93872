import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { pages, sourceIn } from "../../docs/site/pages.ts";
import { providerPages } from "../../docs/site/provider-pages.ts";
import { providerPresets } from "../../packages/gateway/src/catalog/presets.ts";
import { ensureBuilt } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { aReader, keyFor, shellOf } from "./shell.ts";

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
  ["docs/moving-in.md", true],
  ["CONTRIBUTING.md", false],
  ["packages/gateway/README.md", false],
] as const;

/** No MySQL is here, and no database of another tool's in PostgreSQL: each writes the channel that `one-api.db` has. */
const dumps = Object.fromEntries(
  [
    ["mysqldump", "`channels`", "MySQL dump 10.13", "Dump completed on 2026-12-01"],
    ["pg_dump", "public.channels", "PostgreSQL database dump", "PostgreSQL database dump complete"],
  ].map(([name, table, begin, end]) => [
    name,
    `cat <<'SQL'
-- ${begin}
CREATE TABLE ${table} (id bigint, type bigint, key text, status bigint, name text);
INSERT INTO ${table} VALUES (1, 43, '${keyFor("former")}', 1, 'former');
-- ${end}
SQL
`,
  ]),
);

describe("what a page shows can be typed as it stands", () => {
  it.each(written)("%s", { timeout: 120_000 }, async (path, prepared) => {
    const shown = shellOf(read(path));
    await using reader = await aReader({ prepared, programs: dumps });
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

/** The Korean texts, each with the one that it is the twin of. */
const twins = pages.flatMap((page): (readonly [korean: string, english: string])[] => {
  const korean = sourceIn("ko", page);
  return korean === undefined ? [] : [[korean, page.source]];
});

/** Every piece of code of a page. Commands as they stand; of others without what their comments say. */
function everyPieceOf(text: string): readonly string[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]+?)^```$/gm)].map(([whole, language, code = ""]) =>
    language === "sh" ? whole : `${language}: ${code.replaceAll(/(^|[ \t]+)(?:#|\/\/) .*$/gm, "")}`,
  );
}

describe("the Korean pages", () => {
  it.each(twins)("%s shows the same code as %s", (korean, english) => {
    expect(everyPieceOf(read(korean))).toEqual(everyPieceOf(read(english)));
  });

  it.each(twins)("%s has the parts and tables of %s, row for row", (korean, english) => {
    const shapeOf = (path: string) => read(path).match(/^#+(?= )|^\| -|^\|/gm);

    expect(shapeOf(korean)).toEqual(shapeOf(english));
  });

  it("are all held to their twins here", () => {
    const texts = readdirSync(join(root, "docs/ko"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => `docs/ko/${name}`);

    expect(texts.toSorted()).toEqual(twins.map(([korean]) => korean).toSorted());
    expect(twins.flatMap(([korean]) => everyPieceOf(read(korean))).length).toBeGreaterThan(60);
  });
});
