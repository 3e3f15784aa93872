import { describe, expect, it } from "vitest";
import type { Provider } from "../commands/wire.ts";
import { chooseTargets } from "./choose-targets.ts";
import { clients } from "./clients.ts";

function aProvider(slug: string, kind: Provider["kind"], parts: Partial<Provider> = {}): Provider {
  return {
    id: `prv_${slug}`,
    slug,
    name: slug,
    kind,
    preset: null,
    base_url: `https://${slug}.example/v1`,
    api_key: null,
    enabled: true,
    managed_by: null,
    settings: {} as Provider["settings"],
    created_at: "2026-11-30T12:00:00Z",
    updated_at: "2026-11-30T12:00:00Z",
    ...parts,
  };
}

function choose(id: string, providers: readonly Provider[], wanted: readonly string[] = []): readonly string[] {
  const client = clients.find((one) => one.id === id);
  if (client === undefined) throw new Error(`no client ${id}`);
  const gatewayUrl = "http://127.0.0.1:8787";
  return chooseTargets({ client, providers, wanted, gatewayUrl }).map(({ versionedUrl }) => versionedUrl);
}

const openai = aProvider("openai", "openai");
const europe = aProvider("openai-eu", "openai");
const anthropic = aProvider("anthropic", "anthropic");
const local = aProvider("local", "openai-compatible", { base_url: "http://10.0.0.5:8000" });
const zhipu = aProvider("zhipu", "openai-compatible", { base_url: "https://open.bigmodel.cn/api/paas/v4/" });

describe("without a word", () => {
  it.each([
    ["codex", [anthropic, openai], ["http://127.0.0.1:8787/openai/v1"]],
    ["codex", [openai, local], ["http://127.0.0.1:8787/openai/v1"]],
    ["codex", [anthropic, local], ["http://127.0.0.1:8787/local"]],
    ["openai", [zhipu], ["http://127.0.0.1:8787/zhipu/v4"]],
    ["codex", [aProvider("off", "openai", { enabled: false }), europe], ["http://127.0.0.1:8787/openai-eu/v1"]],
    ["env", [anthropic, openai], ["http://127.0.0.1:8787/openai/v1", "http://127.0.0.1:8787/anthropic/v1"]],
  ] as const)("%s takes the only one that fits best", (id, providers, urls) => {
    expect(choose(id, providers)).toEqual(urls);
  });

  it.each([
    ["codex", [openai, europe], "Several providers fit: openai, openai-eu. Say which: --provider openai"],
    ["env", [openai, europe, anthropic], "(and --provider again for those of other kinds)"],
    ["claude-code", [openai], "keywheel provider add anthropic && keywheel key add anthropic"],
    ["claude-code", [aProvider("off", "anthropic", { enabled: false })], "keywheel provider set off --enabled"],
  ] as const)("%s says what to do otherwise", (id, providers, sentence) => {
    expect(() => choose(id, providers)).toThrow(sentence);
  });
});

describe("by name", () => {
  it("takes what is named, and no more", () => {
    expect(choose("env", [openai, europe, anthropic], ["openai-eu"])).toEqual(["http://127.0.0.1:8787/openai-eu/v1"]);
    expect(choose("codex", [openai, local], ["prv_local"])).toEqual(["http://127.0.0.1:8787/local"]);
  });

  it.each([
    [["anthropi"], 'There is no provider "anthropi". Did you mean anthropic?'],
    [["anthropic"], "Codex cannot speak to anthropic, which is of the kind anthropic."],
    [["openai", "openai-eu"], "openai and openai-eu exclude each other"],
  ])("refuses %s", (wanted, sentence) => {
    expect(() => choose("codex", [openai, europe, anthropic], wanted)).toThrow(sentence);
  });
});
