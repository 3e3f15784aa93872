import { createDecipheriv, createHash, pbkdf2Sync } from "node:crypto";
import type { ProviderKind } from "../../store/store.ts";
import type { Found, FoundKey, FoundPool, Left, Reader } from "./foreign.ts";
import { type Fields, fileIn, isFields, notThat, objectsOf, parseJson, readBytes, textOf } from "./parts.ts";
import { isSqlite, type Tables, withTables } from "./sqlite.ts";

/** What gpt-load calls the kinds of API. */
const kinds: Readonly<Record<string, ProviderKind | undefined>> = {
  openai: undefined,
  anthropic: "anthropic",
  gemini: "gemini",
};

/**
 * gpt-load 1.x: the SQLite file `data/gpt-load.db`. Tables `groups` and `api_keys`; since 1.1 values may be encrypted.
 *
 * @see https://github.com/tbphp/gpt-load internal/models/types.go, internal/encryption, internal/channel/base_channel.go
 */
export const readGptLoad: Reader = async ({ path, environment }) => {
  const file = fileIn(path, ["gpt-load.db", "data/gpt-load.db"]);
  if (!isSqlite(readBytes(file))) throw notThat(file, "gpt-load", "it is no SQLite database");
  return withTables(file, (tables) => {
    if (!tables.has("groups") || !tables.has("api_keys")) {
      throw notThat(file, "gpt-load 1.x", "it has no tables `groups` and `api_keys`");
    }
    return foundIn(tables, environment["ENCRYPTION_KEY"]);
  });
};

function foundIn(tables: Tables, encryptionKey: string | undefined): Found {
  const left: Left[] = [];
  const open = opener(encryptionKey);
  const keysOf = Map.groupBy(tables.rows("api_keys"), (row) => Number(row["group_id"]));
  const pools = tables.rows("groups").flatMap((group) => {
    const pool = poolOf(group, left);
    if (pool === undefined) return [];
    const keys: FoundKey[] = [];
    let sealed = 0;
    for (const row of keysOf.get(Number(group["id"])) ?? []) {
      const apiKey = open(textOf(row["key_value"]), textOf(row["key_hash"]));
      if (apiKey === undefined) sealed += 1;
      else keys.push({ apiKey, label: textOf(row["notes"]), weight: 1, enabled: textOf(row["status"]) !== "invalid" });
    }
    if (sealed > 0) {
      const why = "their values are encrypted: say the command with gpt-load's ENCRYPTION_KEY in the environment";
      left.push({ what: `${sealed} keys of group "${textOf(group["name"])}"`, why });
    }
    return [{ ...pool, keys }];
  });
  return { pools, left };
}

function poolOf(group: Fields, left: Left[]): Omit<FoundPool, "keys"> | undefined {
  const name = textOf(group["name"]);
  const what = `group "${name}"`;
  const type = textOf(group["channel_type"]);
  if (!Object.hasOwn(kinds, type)) {
    left.push({ what, why: `its channel type ${type} is not known here` });
    return undefined;
  }
  const upstreams = objectsOf(jsonOf(group["upstreams"]));
  const [first, ...others] = upstreams.map(({ url }) => textOf(url)).filter((url) => url !== "");
  if (first === undefined) {
    left.push({ what, why: "it names no upstream" });
    return undefined;
  }
  if (others.length > 0) {
    const why = "a provider has one base URL here: the keys go to the first upstream alone";
    left.push({ what: `${others.length} more upstreams of ${what}`, why });
  }
  tellRest(group, what, left);
  return { name, baseUrl: first, kind: kinds[type], enabled: true };
}

/** What a group is set to beside its keys. */
function tellRest(group: Fields, what: string, left: Left[]): void {
  const rest = [
    ["config", "its own settings"],
    ["header_rules", "rules that change headers"],
    ["param_overrides", "parameters that are overridden"],
    ["proxy_keys", "keys of its clients: make gateway tokens instead"],
  ] as const;
  for (const [column, why] of rest) {
    const value = column === "proxy_keys" ? textOf(group[column]) : jsonOf(group[column]);
    const isSet = typeof value === "string" ? value !== "" : Object.keys(value ?? {}).length > 0;
    if (isSet) left.push({ what: `${column} of ${what}`, why });
  }
}

function jsonOf(value: unknown): object | undefined {
  const text = value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : textOf(value);
  if (text === "" || text === "null") return undefined;
  const parsed = parseJson(text, "A column of the database");
  return isFields(parsed) || Array.isArray(parsed) ? parsed : undefined;
}

/** Values are what they are, or hex of nonce and AES-256-GCM under a key made of ENCRYPTION_KEY. */
function opener(encryptionKey: string | undefined): (value: string, hash: string) => string | undefined {
  const key =
    encryptionKey === undefined || encryptionKey === ""
      ? undefined
      : pbkdf2Sync(encryptionKey, "gpt-load-encryption-v1", 100_000, 32, "sha256");
  return (value, hash) => {
    // Unencrypted, the hash is the plain SHA-256 of the value; before 1.1 there was none.
    const isPlain = hash === "" || hash === createHash("sha256").update(value).digest("hex");
    if (isPlain || !/^([0-9a-f]{2}){29,}$/.test(value)) return value;
    return key === undefined ? undefined : decrypt(Buffer.from(value, "hex"), key);
  };
}

function decrypt(sealed: Buffer, key: Buffer): string | undefined {
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, 12));
    decipher.setAuthTag(sealed.subarray(-16));
    return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]).toString("utf8");
  } catch {
    // Sealed with another key: told by those who count.
    return undefined;
  }
}
