import { createDecipheriv, createHash, pbkdf2Sync } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ProviderKind } from "../../store/store.ts";
import { foundInGptLoad2 } from "./gpt-load-2.ts";
import type { Found, FoundKey, FoundPool, Left, Reader } from "./foreign.ts";
import { type Fields, fileIn, jsonIn, notThat, objectsOf, readText, textOf } from "./parts.ts";
import { type Tables, withTables } from "./tables.ts";

/** What gpt-load calls the kinds of API, and what stands before an endpoint of each. */
const kinds: Readonly<
  Record<string, { readonly kind?: ProviderKind; readonly behind: NonNullable<FoundPool["behind"]> }>
> = {
  openai: { behind: "/v1" },
  "openai-response": { behind: "/v1" },
  anthropic: { kind: "anthropic", behind: "/v1" },
  gemini: { kind: "gemini", behind: "/v1beta" },
};

/**
 * gpt-load: the SQLite file `data/gpt-load.db`, or a dump of its database. 1.x has the tables `groups` and `api_keys`, and since
 * 1.1 values may be encrypted; 2.x has `groups` and `credentials`, and all values are.
 *
 * @see https://github.com/tbphp/gpt-load 1.x: internal/models/types.go, internal/encryption, internal/channel/base_channel.go;
 * 2.x: internal/storage/migrations/0001_initial.go, internal/platform/encryption
 */
export const readGptLoad: Reader = async ({ path, environment }) => {
  const file = fileIn(path, ["gpt-load.db", "data/gpt-load.db"]);
  const found = await withTables(file, ["groups", "api_keys", "credentials", "access_keys"], (tables) => {
    if (tables.has("groups") && tables.has("api_keys")) {
      return foundIn(tables, opener(textOf(environment["ENCRYPTION_KEY"])));
    }
    if (tables.has("groups") && tables.has("credentials")) {
      return foundInGptLoad2(tables, opener(textOf(environment["ENCRYPTION_KEY"]) || keyBeside(file)));
    }
    throw notThat(file, "gpt-load", "it has no tables `groups` and `api_keys` or `credentials`");
  });
  if (found === undefined) throw notThat(file, "gpt-load", "it is no SQLite database and no dump of one");
  return found;
};

/** Opens a value; undefined for one whose key is not here. */
export type Open = (value: string, hash: string) => string | undefined;

function foundIn(tables: Tables, open: Open): Found {
  const left: Left[] = [];
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
  if (textOf(group["group_type"]) === "aggregate") {
    left.push({ what, why: "it has no keys of its own: the groups that it joins are taken" });
    return undefined;
  }
  const type = textOf(group["channel_type"]);
  const spoken = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (spoken === undefined) {
    left.push({ what, why: `its channel type ${type} is not known here` });
    return undefined;
  }
  const upstreams = objectsOf(jsonIn(group["upstreams"], `\`upstreams\` of ${what}`));
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
  // Its clients say the version; where keys are tested, it stands in the endpoint.
  const tested = textOf(group["validation_endpoint"]);
  const behind = tested === "" || tested.startsWith(`${spoken.behind}/`) ? { behind: spoken.behind } : {};
  return { name, baseUrl: first, ...behind, kind: spoken.kind, enabled: true };
}

/** What a group is set to beside its keys. */
function tellRest(group: Fields, what: string, left: Left[]): void {
  const rest = [
    ["config", "its own settings"],
    ["header_rules", "rules that change headers"],
    ["param_overrides", "parameters that are overridden"],
    ["model_redirect_rules", "requests go on as clients send them"],
    ["proxy_keys", "keys of its clients: make gateway tokens instead"],
  ] as const;
  for (const [column, why] of rest) {
    const value = column === "proxy_keys" ? textOf(group[column]) : jsonIn(group[column], `\`${column}\` of ${what}`);
    const isSet = typeof value === "string" ? value !== "" : Object.keys(value ?? {}).length > 0;
    if (isSet) left.push({ what: `${column} of ${what}`, why });
  }
}

/** What 2.x makes for itself beside its database, unless it is given one. */
function keyBeside(file: string): string {
  const beside = join(dirname(file), "encryption.key");
  return existsSync(beside) ? readText(beside).trim() : "";
}

/** Values are what they are, or hex of nonce and AES-256-GCM under a key made of ENCRYPTION_KEY. */
function opener(encryptionKey: string): Open {
  const key =
    encryptionKey === "" ? undefined : pbkdf2Sync(encryptionKey, "gpt-load-encryption-v1", 100_000, 32, "sha256");
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
