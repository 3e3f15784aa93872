import type { ProviderKind } from "../../store/store.ts";
import { addressOf, notByKey } from "./cherry-studio-address.ts";
import type { Found, FoundPool, Left } from "./foreign.ts";
import { type Fields, isFields, isNo, jsonIn, objectsOf, textOf } from "./parts.ts";
import type { Tables } from "./tables.ts";

/** Kinds of endpoints, in the order in which one is taken where a provider does not say which is its first. */
const endpoints: Readonly<Record<string, ProviderKind | undefined>> = {
  "openai-chat-completions": undefined,
  "openai-responses": undefined,
  "anthropic-messages": "anthropic",
  "google-generate-content": "gemini",
};

/** Cherry Studio 2.x: the table `user_provider`, one row for each provider, keys as a list of objects. */
export function foundInCherryStudio2(tables: Tables): Found {
  const left: Left[] = [];
  const order = (row: Fields): string => textOf(row["order_key"]);
  const rows = tables
    .rows("user_provider")
    .toSorted((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0));
  const pools = rows.flatMap((row) => {
    const pool = poolOf(row, left);
    return pool === undefined ? [] : [pool];
  });
  return { pools, left };
}

function poolOf(row: Fields, left: Left[]): FoundPool | undefined {
  const id = textOf(row["provider_id"]);
  const what = `provider "${textOf(row["name"]) || id}"`;
  const column = (name: string): unknown => jsonIn(row[name], `\`${name}\` of ${what}`);
  const entries = objectsOf(column("api_keys"));
  // Dozens are there from the beginning, without anything of the user's.
  if (entries.length === 0) return undefined;
  const auth = column("auth_config");
  if (isFields(auth) && textOf(auth["type"]) !== "api-key" && textOf(auth["type"]) !== "iam-azure") {
    left.push({ what, why: notByKey });
    return undefined;
  }
  const place = placeOf(row, column("endpoint_configs"), what, left);
  if (place === undefined) return undefined;
  const settings = column("provider_settings");
  if (isFields(settings) && isFields(settings["extraHeaders"]) && Object.keys(settings["extraHeaders"]).length > 0) {
    left.push({ what: `extra headers of ${what}`, why: "requests go on as clients send them" });
  }
  return {
    name: textOf(row["name"]) || id,
    ...place,
    enabled: !isNo(row["is_enabled"]),
    keys: entries.map((entry) => ({
      apiKey: textOf(entry["key"]),
      label: textOf(entry["label"]),
      weight: 1,
      enabled: entry["isEnabled"] !== false,
    })),
  };
}

/** A provider may have an address for each kind of API; a pool has one. */
function placeOf(
  row: Fields,
  configs: unknown,
  what: string,
  left: Left[],
): Pick<FoundPool, "baseUrl" | "behind" | "kind"> | undefined {
  const urls = new Map(
    Object.entries(isFields(configs) ? configs : {}).flatMap(([type, config]) => {
      const url = isFields(config) ? textOf(config["baseUrl"]) : "";
      return url !== "" && Object.hasOwn(endpoints, type) ? [[type, url] as const] : [];
    }),
  );
  const first = [textOf(row["default_chat_endpoint"]), ...Object.keys(endpoints)].find((type) => urls.has(type));
  const url = first === undefined ? undefined : urls.get(first);
  if (first === undefined || url === undefined) {
    left.push({ what, why: "it has no base URL" });
    return undefined;
  }
  if (url.endsWith("#")) {
    left.push({ what, why: "its address is that of one single endpoint (`#`), not a base URL" });
    return undefined;
  }
  const others = [...urls.keys()].filter((type) => endpoints[type] !== endpoints[first]);
  if (others.length > 0) {
    const why = "a provider has one kind of API here: make one more for those, with the same keys";
    left.push({ what: `${others.join(", ")} of ${what}`, why });
  }
  const isAzure = [row["provider_id"], row["preset_provider_id"]].includes("azure-openai");
  const kind = isAzure ? "azure-openai" : endpoints[first];
  return { ...addressOf(url, kind), kind };
}
