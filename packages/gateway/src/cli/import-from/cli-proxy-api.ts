import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { FoundKey, FoundPool, Left, Reader } from "./foreign.ts";
import {
  type Fields,
  fileIn,
  isFields,
  isFolder,
  notThat,
  numberOf,
  objectsOf,
  parseJson,
  parseYaml,
  readText,
  textOf,
} from "./parts.ts";

/** Sections with keys of one provider each, where they go without a `base-url`, and what is put behind one. */
const sections = {
  "gemini-api-key": { preset: "gemini", kind: "gemini", behind: "/v1beta" },
  "claude-api-key": { preset: "anthropic", kind: "anthropic", behind: "/v1" },
  "codex-api-key": { preset: "openai", kind: undefined, behind: undefined },
  "xai-api-key": { preset: "xai", kind: undefined, behind: undefined },
} as const;

/**
 * CLIProxyAPI 6 and 7: `config.yaml`, and the files of its sign-ins beside it, of which none can be taken.
 *
 * @see https://github.com/router-for-me/CLIProxyAPI config.example.yaml
 */
export const readCliProxyApi: Reader = async ({ path }) => {
  const folder = isFolder(path) ? path : undefined;
  const left: Left[] = [];
  if (folder !== undefined) left.push(...signInsIn(folder), ...signInsIn(join(folder, "auths")));
  if (folder !== undefined && left.length > 0 && !existsSync(join(folder, "config.yaml"))) return { pools: [], left };
  const file = fileIn(path, ["config.yaml"]);
  const config = await parseYaml(readText(file), file);
  if (!isFields(config)) throw notThat(file, "CLIProxyAPI", "it is no object");
  const pools = [
    ...Object.entries(sections).flatMap(([name, section]) =>
      objectsOf(config[name]).map((entry, index) => ({
        // Elsewhere than at the vendor's it is called by its host.
        name: textOf(entry["base-url"]) === "" ? section.preset : "",
        baseUrl: textOf(entry["base-url"]) || undefined,
        preset: textOf(entry["base-url"]) === "" ? section.preset : undefined,
        ...(section.behind === undefined ? {} : { behind: section.behind }),
        kind: section.kind,
        enabled: true,
        keys: keysOf([entry], `${name} ${index + 1}`),
      })),
    ),
    ...legacyGemini(config),
    ...objectsOf(config["openai-compatibility"]).map(compatible),
  ];
  const known = [...Object.keys(sections), "openai-compatibility", "generative-language-api-key"];
  if (pools.length === 0 && !known.some((name) => config[name] !== undefined) && config["auth-dir"] === undefined) {
    throw notThat(file, "CLIProxyAPI", "it has neither keys nor `auth-dir`");
  }
  return { pools, left: [...left, ...leftIn(config)] };
};

function compatible(entry: Fields): FoundPool {
  const name = textOf(entry["name"]);
  const older = Array.isArray(entry["api-keys"]) ? entry["api-keys"].map((key: unknown) => ({ "api-key": key })) : [];
  return {
    name,
    baseUrl: textOf(entry["base-url"]),
    enabled: entry["disabled"] !== true,
    keys: keysOf([...objectsOf(entry["api-key-entries"]), ...older], name),
  };
}

/** Of version 5 and before. */
function legacyGemini(config: Fields): FoundPool[] {
  const list = config["generative-language-api-key"];
  if (!Array.isArray(list) || list.length === 0) return [];
  const keys = keysOf(
    list.map((key: unknown) => ({ "api-key": key })),
    "generative-language-api-key",
  );
  return [{ name: "gemini", baseUrl: undefined, preset: "gemini", kind: "gemini", enabled: true, keys }];
}

function keysOf(entries: readonly Fields[], name: string): FoundKey[] {
  return entries.map((entry, index) => {
    const weight = numberOf(entry["weight"]) ?? 1;
    // One that is not positive takes the key out of the weighted turns.
    return {
      apiKey: textOf(entry["api-key"]),
      label: entries.length === 1 ? name : `${name} ${index + 1}`,
      weight: Math.max(1, weight),
      enabled: weight > 0,
    };
  });
}

function leftIn(config: Fields): Left[] {
  const left: Left[] = [];
  const clients = Array.isArray(config["api-keys"]) ? config["api-keys"].length : 0;
  const note = (isThere: boolean, what: string, why: string): void => {
    if (isThere) left.push({ what, why });
  };
  note(
    clients > 0,
    `${clients} of \`api-keys\``,
    "keys of clients: make gateway tokens instead (keywheel token create)",
  );
  for (const name of ["vertex-api-key", "interactions-api-key"]) {
    note(objectsOf(config[name]).length > 0, name, "that API is not one that is passed through here");
  }
  const entries = [...Object.keys(sections), "openai-compatibility"].flatMap((name) => objectsOf(config[name]));
  const rules = ["models", "excluded-models", "headers", "prefix", "proxy-url", "cloak"];
  const used = rules.filter((rule) => entries.some((entry) => entry[rule] !== undefined));
  note(used.length > 0, `${used.join(", ")} of its keys`, "requests go on as clients send them");
  const auths = textOf(config["auth-dir"]);
  note(auths !== "", `the sign-ins in ${auths}`, signIn);
  return left;
}

const signIn = "a sign-in of a subscription is no API key, and belongs to the program that made it";

/** Which files are sign-ins: JSON with a `type`. */
function signInsIn(folder: string): Left[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return files.flatMap((name) => {
    const content = parseJson(readText(join(folder, name)), join(folder, name));
    const type = isFields(content) ? textOf(content["type"]) : "";
    return type === "" ? [] : [{ what: `${name} (${type})`, why: signIn }];
  });
}
