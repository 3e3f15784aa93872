import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { run } from "../library/packed.ts";
import { aReader, piecesOf, type Reader, shellOf, type ShownCommands } from "./shell.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");
const operations = readFileSync(join(root, "docs", "operations.md"), "utf8");

beforeAll(() => ensureBuilt(), 120_000);

/** Where nothing is there yet, as the page itself says how to begin. */
const beginnings = ["Start", "Without a key of your own", "Claude Code", "Codex"];

function readerUnder(heading: string): Promise<Reader> {
  return aReader({ prepared: !beginnings.includes(heading) });
}

function underHeadings(pieces: readonly ShownCommands[]): ReadonlyMap<string, readonly string[]> {
  return new Map(
    [...Map.groupBy(pieces, ({ heading }) => heading)].map(([heading, all]) => [heading, all.map(({ code }) => code)]),
  );
}

describe("the README can be typed as it stands", () => {
  const shown = underHeadings(shellOf(readme));

  it.each([...shown])("%s", { timeout: 120_000 }, async (heading, code) => {
    await using reader = await readerUnder(heading);

    for (const piece of code) {
      const failed = await reader.type(piece).catch((error: unknown) => error);
      expect(failed).toEqual(expect.any(String));
    }
  });

  it("all of it", () => {
    expect([...shown.keys()]).toEqual(
      expect.arrayContaining([...beginnings, "Connect a client", "Others", "Backup and moving", "Development"]),
    );
  });
});

describe("so can what it has for operators", () => {
  it.each([...underHeadings(shellOf(operations))])("%s", { timeout: 60_000 }, async (heading, code) => {
    await using reader = await readerUnder(heading);

    for (const piece of code) {
      const failed = await reader.type(piece).catch((error: unknown) => error);
      expect(failed).toEqual(expect.any(String));
    }
  });
});

describe("what it shows for files and programs", () => {
  it("is what `connect codex` says", async () => {
    await using reader = await aReader({ prepared: true });
    const [toml] = piecesOf(readme, ["toml"]);

    const said = (await reader.type("keywheel connect codex")).replaceAll(reader.gateway.url, "http://127.0.0.1:8787");

    const lines = toml?.code.split("\n").filter((line) => line !== "" && !line.startsWith("#")) ?? [];
    expect(lines.length).toBeGreaterThan(4);
    expect(lines.filter((line) => !said.includes(line))).toEqual([]);
  });

  it("runs with the SDK", { timeout: 60_000 }, async () => {
    await using reader = await aReader({ prepared: true });
    // Where packages are found as they are from the tests.
    const folder = mkdtempSync(join(root, "test", "docs", ".snippets-"));
    try {
      const [script = "", library = ""] = piecesOf(readme, ["ts"]).map(({ code }) => code);
      const imports = `import OpenAI from "openai";\nimport { createPool, providers } from "@keywheel/pool";\n`;
      const url = reader.gateway.url;
      writeFileSync(
        join(folder, "script.ts"),
        `${script.replaceAll("http://127.0.0.1:8787", url)}\nconsole.log(answer.output_text);`,
      );
      writeFileSync(
        join(folder, "library.ts"),
        `${imports}${library}\nconsole.log((await pool.keys()).length, client.apiKey);`,
      );

      const said = await run(process.execPath, ["--no-warnings", join(folder, "script.ts")], folder);
      const pooled = await run(process.execPath, ["--no-warnings", join(folder, "library.ts")], folder);

      expect(said).toContain("Hello");
      expect(pooled).toBe("2 pool\n");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
