import { join } from "node:path";
import { type Client, folderOf, placeholder, type Place, type Speech, type Target, type Targets } from "./client.ts";
import { envFormat } from "./env-format.ts";
import type { Change } from "./format.ts";
import { jsonFormat } from "./json-format.ts";
import { tomlFormat } from "./toml-format.ts";

/** @see https://code.claude.com/docs/en/llm-gateway; it adds `/v1/messages` to the address itself */
const claudeCode: Client = {
  id: "claude-code",
  name: "Claude Code",
  speaks: ["anthropic"],
  writes: "~/.claude/settings.json",
  start: "claude",
  rivals: ["ANTHROPIC_API_KEY"],
  setUp: ([{ url }], token = placeholder, { environment, home }) => {
    const variables = [
      ["ANTHROPIC_BASE_URL", url],
      ["ANTHROPIC_AUTH_TOKEN", token],
    ] as const;
    const path = join(folderOf(environment["CLAUDE_CONFIG_DIR"], home, ".claude"), "settings.json");
    return {
      files: [{ path, format: jsonFormat, changes: variables.map(([name, value]) => inside("env", name, value)) }],
      variables,
      notes: [],
    };
  },
};

/** @see https://developers.openai.com/codex/config-reference; `chat` is no longer a wire_api */
const codex: Client = {
  id: "codex",
  name: "Codex",
  speaks: ["openai"],
  writes: "~/.codex/config.toml",
  start: "codex",
  rivals: [],
  setUp: ([{ versionedUrl, provider }], token, { environment, home }) => {
    const own = (name: string, value: string | undefined): Change => ({
      path: ["model_providers", "keywheel", name],
      value,
    });
    const path = join(folderOf(environment["CODEX_HOME"], home, ".codex"), "config.toml");
    const changes: readonly Change[] = [
      { path: ["model_provider"], value: "keywheel" },
      own("name", "Keywheel"),
      own("base_url", versionedUrl),
      own("wire_api", "responses"),
      // Without one it sends none, and does not ask to sign in.
      { ...own("experimental_bearer_token", token), secret: true },
      // Two ways to say which token: the other one would win.
      own("env_key", undefined),
    ];
    const notes =
      provider.kind === "openai" ? [] : [`Codex speaks the Responses API: ${provider.name} has to know it as well.`];
    return { files: [{ path, format: tomlFormat, changes }], variables: [], notes };
  },
};

/** @see its docs/reference/configuration.md: variables come from `.env` files, the way to sign in from the settings */
const geminiCli: Client = {
  id: "gemini-cli",
  name: "Gemini CLI",
  speaks: ["gemini"],
  writes: "~/.gemini/.env and ~/.gemini/settings.json",
  start: "gemini",
  rivals: ["GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"],
  setUp: (targets, token, { environment, home }) => {
    const folder = join(folderOf(environment["GEMINI_CLI_HOME"], home), ".gemini");
    const variables = variablesFor(targets, token);
    const changes: readonly Change[] = [{ path: ["security", "auth", "selectedType"], value: "gemini-api-key" }];
    return {
      files: [
        { path: join(folder, ".env"), format: envFormat, changes: linesOf(variables) },
        { path: join(folder, "settings.json"), format: jsonFormat, changes },
      ],
      variables,
      notes: [
        "Gemini CLI reads this .env in folders that you trust, unless a .env of the folder or of one above it comes first.",
      ],
    };
  },
};

/** @see https://opencode.ai/docs/providers, "Base URL"; its SDKs want the version in the address */
const opencode: Client = {
  id: "opencode",
  name: "opencode",
  speaks: ["anthropic", "openai", "gemini"],
  writes: "~/.config/opencode/opencode.json",
  start: "opencode",
  rivals: ["OPENCODE_CONFIG_CONTENT"],
  setUp: (targets, token = placeholder, place) => {
    const changes = targets.flatMap((target) => [...ownProvider(target), ...opencodeOptions(target, token)]);
    const notes = targets
      .filter((target) => isOwnProvider(target) && target.models.length === 0)
      .map(
        ({ provider: { name, slug } }) =>
          `${name} did not say which models it has: name them under provider.${slug}.models.`,
      );
    return { files: [{ path: opencodePath(place), format: jsonFormat, changes }], variables: [], notes };
  },
  wantsModels: true,
};

/** As many models as anybody would choose from. */
const mostModels = 100;

function opencodeOptions(target: Target, token: string): readonly Change[] {
  const { speech, url, versionedUrl, provider } = target;
  const [name, address] = {
    anthropic: ["anthropic", `${url}/v1`] as const,
    openai: [isOwnProvider(target) ? provider.slug : "openai", versionedUrl] as const,
    gemini: ["google", `${url}/v1beta`] as const,
  }[speech];
  const option = (key: string, value: string): Change => ({ path: ["provider", name, "options", key], value });
  return [option("baseURL", address), { ...option("apiKey", token), secret: true }];
}

/** Whether it is one that opencode has to be told of: it speaks as OpenAI does, and is not OpenAI. */
function isOwnProvider({ provider }: Target): boolean {
  return provider.kind === "openai-compatible";
}

function ownProvider(target: Target): readonly Change[] {
  if (!isOwnProvider(target)) return [];
  const { slug, name } = target.provider;
  const entry = (value: string, ...path: readonly string[]): Change => ({ path: ["provider", slug, ...path], value });
  return [
    entry("@ai-sdk/openai-compatible", "npm"),
    entry(name, "name"),
    ...target.models.slice(0, mostModels).map((model) => entry(model, "models", model, "name")),
  ];
}

/** It reads both names and lets the second win. */
function opencodePath({ home, environment, exists }: Place): string {
  const folder = join(folderOf(environment["XDG_CONFIG_HOME"], home, ".config"), "opencode");
  const named = environment["OPENCODE_CONFIG"];
  if (named !== undefined && named !== "") return named;
  const withComments = join(folder, "opencode.jsonc");
  return exists(withComments) ? withComments : join(folder, "opencode.json");
}

function sdk(id: string, name: string, ...speaks: Client["speaks"]): Client {
  return {
    id,
    name,
    speaks,
    writes: ".env in the folder where you are",
    rivals: [],
    setUp: (targets, token, { folder }) => {
      const variables = variablesFor(targets, token);
      return {
        files: [{ path: join(folder, ".env"), format: envFormat, changes: linesOf(variables) }],
        variables,
        notes: ["Keep .env, and copies of it, out of version control."],
      };
    },
  };
}

/** What the SDKs of the vendors, and what is built on them, read from the environment. */
function variablesFor(targets: Targets, token = placeholder): readonly (readonly [string, string])[] {
  return targets.flatMap((target) => [
    [addressNames[target.speech], addressFor(target)] as const,
    [keyNames[target.speech], token] as const,
  ]);
}

const addressNames = {
  openai: "OPENAI_BASE_URL",
  anthropic: "ANTHROPIC_BASE_URL",
  gemini: "GOOGLE_GEMINI_BASE_URL",
} as const satisfies Record<Speech, string>;

const keyNames = {
  openai: "OPENAI_API_KEY",
  anthropic: "ANTHROPIC_API_KEY",
  gemini: "GEMINI_API_KEY",
} as const satisfies Record<Speech, string>;

/** OpenAI's SDKs want the version in the address; the others add it. */
function addressFor({ speech, url, versionedUrl }: Target): string {
  return speech === "openai" ? versionedUrl : url;
}

function linesOf(variables: readonly (readonly [string, string])[]): readonly Change[] {
  return variables.map(([name, value]) => marked({ path: [name], value }));
}

function inside(outer: string, name: string, value: string): Change {
  return marked({ path: [outer, name], value });
}

function marked(change: Change): Change {
  return /(KEY|TOKEN)$/.test(change.path.at(-1) ?? "") ? { ...change, secret: true } : change;
}

/** The clients whose set-up is known, in the order in which they are listed. */
export const clients: readonly Client[] = [
  claudeCode,
  codex,
  geminiCli,
  opencode,
  sdk("openai", "OpenAI SDK", "openai"),
  sdk("anthropic", "Anthropic SDK", "anthropic"),
  sdk("gemini", "Gemini SDK", "gemini"),
  sdk("env", "Environment variables", "openai", "anthropic", "gemini"),
];
