import type { ProviderKind } from "../../store/store.ts";
import { failed } from "../exit.ts";
import type { FoundPool, Left, Reader } from "./foreign.ts";
import { type Fields, fileIn, isFields, notThat, objectsOf, parseJson, readBytes, textOf } from "./parts.ts";

const kinds: Readonly<Record<string, ProviderKind>> = {
  anthropic: "anthropic",
  gemini: "gemini",
  "azure-openai": "azure-openai",
};

/** What signs in by other means than a key. */
const keyless = new Set(["vertexai", "vertex-anthropic", "aws-bedrock", "copilot", "cherryai"]);

/**
 * Cherry Studio: a backup of the formats 2 to 5 (`cherry-studio.….zip`), or the `data.json` in it.
 *
 * @see https://github.com/CherryHQ/cherry-studio src/main/services/BackupManager.ts, src/renderer/src/services/BackupService.ts
 */
export const readCherryStudio: Reader = async ({ path }) => {
  const file = fileIn(path, ["data.json"]);
  const bytes = readBytes(file);
  const text = isZip(bytes) ? await dataIn(bytes, file) : bytes.toString("utf8");
  const backup = parseJson(text, file);
  const providers = isFields(backup) ? providersIn(backup, file) : undefined;
  if (providers === undefined) throw notThat(file, "Cherry Studio", "it has no providers");
  const left: Left[] = [];
  const pools = providers.flatMap((provider) => {
    const pool = poolOf(provider, left);
    return pool === undefined ? [] : [pool];
  });
  return { pools, left };
};

function isZip(bytes: Buffer): boolean {
  return bytes.subarray(0, 2).toString("latin1") === "PK";
}

async function dataIn(bytes: Buffer, file: string): Promise<string> {
  const { unzipSync } = await import("fflate");
  let names: string[] = [];
  let data: Uint8Array | undefined;
  try {
    const found = unzipSync(bytes, {
      filter: ({ name }) => {
        names = [...names, name];
        return name === "data.json";
      },
    });
    data = found["data.json"];
  } catch (error) {
    throw failed(`${file} is damaged: it cannot be unpacked.`, error);
  }
  if (data !== undefined) return Buffer.from(data).toString("utf8");
  if (names.some((name) => name.startsWith("Local Storage/") || name.startsWith("IndexedDB/"))) {
    throw failed(
      `${file} is a backup of format 6, in which Cherry Studio copies its own database files: those cannot be read here. ` +
        "Copy the keys from its settings into a file, one a line, and use `keywheel key import`.",
    );
  }
  throw notThat(file, "Cherry Studio", "there is no data.json in it");
}

/** Its state is a text in a text: `localStorage["persist:cherry-studio"]`, and in that `llm`. */
function providersIn(backup: Fields, file: string): readonly Fields[] | undefined {
  const storage = backup["localStorage"];
  const state = isFields(storage) ? inner(storage["persist:cherry-studio"], file) : undefined;
  const llm = state === undefined ? undefined : inner(state["llm"], file);
  return Array.isArray(llm?.["providers"]) ? objectsOf(llm["providers"]) : undefined;
}

function inner(value: unknown, file: string): Fields | undefined {
  const parsed = typeof value === "string" ? parseJson(value, file) : value;
  return isFields(parsed) ? parsed : undefined;
}

function poolOf(provider: Fields, left: Left[]): FoundPool | undefined {
  const name = textOf(provider["name"]) || textOf(provider["id"]);
  const what = `provider "${name}"`;
  const type = textOf(provider["type"]);
  // Several keys stand beside each other with commas.
  const values = textOf(provider["apiKey"])
    .split(",")
    .map((key) => key.trim())
    .filter((key) => key !== "");
  // Dozens are there from the beginning, without anything of the user's.
  if (values.length === 0) return undefined;
  if (keyless.has(type) || keyless.has(textOf(provider["id"]))) {
    left.push({ what, why: "it is not a matter of API keys that can be sent on" });
    return undefined;
  }
  const host = textOf(provider["apiHost"]);
  if (host.endsWith("#")) {
    left.push({ what, why: "its address is that of one single endpoint (`#`), not a base URL" });
    return undefined;
  }
  if (isFields(provider["extra_headers"]) && Object.keys(provider["extra_headers"]).length > 0) {
    left.push({ what: `extra headers of ${what}`, why: "requests go on as clients send them" });
  }
  const kind = textOf(provider["id"]) === "azure-openai" ? "azure-openai" : kinds[type];
  return {
    name,
    baseUrl: host,
    // With a slash at its end an address is complete; else the version is put behind it.
    ...(host.endsWith("/") || kind === "azure-openai" ? {} : { behind: kind === "gemini" ? "/v1beta" : "/v1" }),
    kind,
    enabled: provider["enabled"] !== false,
    keys: values.map((apiKey) => ({ apiKey, label: "", weight: 1, enabled: true })),
  };
}
