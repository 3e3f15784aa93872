import { createDecipheriv } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { ProviderKind } from "../../store/store.ts";
import type { FoundKey, FoundPool, Left, Reader } from "./foreign.ts";
import {
  type Fields,
  fileIn,
  isFields,
  notThat,
  numberOf,
  objectsOf,
  parseJson,
  readBytes,
  readText,
  textOf,
} from "./parts.ts";

const kinds: Readonly<Record<string, ProviderKind | undefined>> = {
  openai: undefined,
  "openai-response": undefined,
  anthropic: "anthropic",
  gemini: "gemini",
};

/**
 * omnicross, the daemon that Elftia's pools come from: `config.json` (`~/.omnicross/config.json`), values in the clear, as
 * `$NAME`, or sealed with its master key (`enc:v1:…`).
 *
 * @see https://github.com/DumoeDss/omnicross packages/daemon/src/config.ts, packages/daemon/src/secrets
 */
export const readOmnicross: Reader = async ({ path, environment }) => {
  const file = fileIn(path, ["config.json"]);
  const config = parseJson(readText(file), file);
  if (!isFields(config) || !Array.isArray(config["providers"]))
    throw notThat(file, "omnicross", "it has no `providers`");
  const left: Left[] = [];
  const open = opener(masterKey(file, environment));
  const pools = objectsOf(config["providers"]).flatMap((row) => {
    const what = `provider "${textOf(row["id"])}"`;
    const format = textOf(row["apiFormat"]);
    if (!Object.hasOwn(kinds, format)) {
      left.push({ what, why: `its format ${format} is not known here` });
      return [];
    }
    const others = ["codingPlan", "apiModes", "transformer"].filter((name) => row[name] !== undefined);
    if (others.length > 0)
      left.push({ what: `${others.join(", ")} of ${what}`, why: "a provider has one address here" });
    return [poolOf(row, { what, open, left, kind: kinds[format] })];
  });
  if (isFields(config["admin"])) left.push({ what: "`admin`", why: "it is about omnicross itself" });
  if (config["server"] !== undefined) left.push({ what: "`server`", why: "it is about omnicross itself" });
  return { pools, left };
};

type Open = (value: string) => string | undefined;

function poolOf(
  row: Fields,
  {
    what,
    open,
    left,
    kind,
  }: { readonly what: string; readonly open: Open; readonly left: Left[]; readonly kind: ProviderKind | undefined },
): FoundPool {
  const pool = objectsOf(row["apiKeys"]);
  // The key of the provider itself serves only where it has no pool.
  const entries = pool.length > 0 ? pool : [{ id: "", apiKey: row["apiKey"] }];
  const keys: FoundKey[] = [];
  for (const entry of entries) {
    const value = textOf(entry["apiKey"]);
    if (value === "") continue;
    const apiKey = open(value);
    if (apiKey === undefined) {
      const why =
        "it is sealed, and omnicross's master key is not here: set OMNICROSS_MASTER_KEY, or put master.key beside it";
      left.push({ what: `key ${textOf(entry["id"])} of ${what}`.replace("key  of", "the key of"), why });
      continue;
    }
    keys.push({
      apiKey,
      label: textOf(entry["label"]) || textOf(entry["id"]),
      weight: numberOf(entry["weight"]) ?? 1,
      enabled: entry["enabled"] !== false,
    });
  }
  return {
    name: textOf(row["name"]) || textOf(row["id"]),
    baseUrl: textOf(row["baseUrl"]),
    kind,
    enabled: row["enabled"] !== false,
    keys,
  };
}

const keyBytes = 32;

function masterKey(file: string, environment: Fields): Buffer | undefined {
  const named = textOf(environment["OMNICROSS_MASTER_KEY"]);
  if (named !== "") return decoded(Buffer.from(named));
  const places = [join(dirname(file), "master.key"), join(homedir(), ".omnicross", "master.key")];
  const place = places.find((candidate) => existsSync(candidate));
  return place === undefined ? undefined : decoded(readBytes(place));
}

/** 32 bytes as they are, as 64 hexadecimal digits, or as base64. */
function decoded(raw: Buffer): Buffer | undefined {
  if (raw.length === keyBytes) return raw;
  const text = raw.toString("utf8").trim();
  const key = /^[0-9a-fA-F]{64}$/.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64");
  return key.length === keyBytes ? key : undefined;
}

/** `enc:v1:<nonce>:<tag>:<sealed>` in base64, AES-256-GCM. */
function opener(key: Buffer | undefined): Open {
  return (value) => {
    if (!value.startsWith("enc:")) return value;
    const [, version, nonce = "", tag = "", sealed = ""] = value.split(":");
    if (key === undefined || version !== "v1") return undefined;
    try {
      const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(nonce, "base64"));
      decipher.setAuthTag(Buffer.from(tag, "base64"));
      return Buffer.concat([decipher.update(Buffer.from(sealed, "base64")), decipher.final()]).toString("utf8");
    } catch {
      // Sealed with another key: told by the caller.
      return undefined;
    }
  };
}
