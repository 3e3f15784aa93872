import type { ProviderKind } from "../../store/store.ts";
import type { Found, FoundKey, FoundPool, Left } from "./foreign.ts";
import type { Open } from "./gpt-load.ts";
import { type Fields, isFields, isNo, jsonIn, numberOf, textOf } from "./parts.ts";
import type { Tables } from "./tables.ts";

interface Channel {
  readonly preset?: string;
  readonly kind?: ProviderKind;
  /** Where it is without a base URL of its own; default: the preset's. */
  readonly baseUrl?: string;
  readonly behind?: FoundPool["behind"];
}

/**
 * What 2.x calls where a group's keys go to. Base URLs of its own are complete, but for those of vendors whose libraries put
 * the version behind them.
 *
 * @see https://github.com/tbphp/gpt-load internal/channel/modules
 */
const channels: Readonly<Record<string, Channel>> = {
  openai: { preset: "openai" },
  openai_compatible: { kind: "openai-compatible" },
  newapi: { kind: "openai-compatible", behind: "/v1" },
  gpt_load: { kind: "openai-compatible", behind: "/v1" },
  cliproxyapi: { kind: "openai-compatible", behind: "/v1" },
  anthropic: { preset: "anthropic", kind: "anthropic", behind: "/v1" },
  gemini: { preset: "gemini", kind: "gemini", behind: "/v1beta" },
  azure_openai: { kind: "azure-openai" },
  deepseek: { preset: "deepseek" },
  moonshotai: { preset: "moonshot", baseUrl: "https://api.moonshot.cn/v1" },
  siliconflow: { preset: "siliconflow" },
  zhipuai: { preset: "zhipu" },
  alibaba: { preset: "dashscope" },
  volcengine: { kind: "openai-compatible", baseUrl: "https://ark.cn-beijing.volces.com/api/v3" },
  openrouter: { preset: "openrouter" },
  groq: { preset: "groq" },
  xai: { preset: "xai" },
  mistral: { preset: "mistral" },
};

/** gpt-load 2.x: tables `groups` and `credentials`, whose `data` is a sealed object with the fields of its channel. */
export function foundInGptLoad2(tables: Tables, open: Open): Found {
  const left: Left[] = [];
  const credentialsOf = Map.groupBy(tables.rows("credentials"), (row) => Number(row["group_id"]));
  const pools = tables.rows("groups").flatMap((group) => {
    const what = `group "${textOf(group["name"])}"`;
    const pool = poolOf(group, what, left);
    if (pool === undefined) return [];
    const { keys, sealed } = keysOf(credentialsOf.get(Number(group["id"])) ?? [], { what, open, left });
    if (sealed > 0) {
      const why =
        "their values are encrypted: say the command with gpt-load's ENCRYPTION_KEY in the environment, or put its encryption.key beside the file";
      left.push({ what: `${sealed} keys of ${what}`, why });
    }
    return [{ ...pool, keys }];
  });
  const clients = tables.has("access_keys") ? tables.count("access_keys") : 0;
  const why = "keys of clients: make gateway tokens instead (keywheel token create)";
  return { pools, left: clients === 0 ? left : [...left, { what: `${clients} access keys`, why }] };
}

function poolOf(group: Fields, what: string, left: Left[]): Omit<FoundPool, "keys"> | undefined {
  const give = (why: string): undefined => {
    left.push({ what, why });
    return undefined;
  };
  if (textOf(group["connection_type"]) === "subscription") {
    return give("a sign-in of a subscription is no API key, and belongs to the program that made it");
  }
  const id = textOf(group["channel_id"]);
  const channel = Object.hasOwn(channels, id) ? channels[id] : undefined;
  if (channel === undefined) return give(`keys of its channel ${id} cannot be sent on as they are`);
  const params = jsonIn(group["params"], `\`params\` of ${what}`);
  const own = isFields(params) ? textOf(params["base_url"]) || textOf(params["endpoint"]) : "";
  if (own === "" && channel.baseUrl === undefined && channel.preset === undefined) return give("it has no base URL");
  for (const [column, why] of rest) {
    const value = jsonIn(group[column], `\`${column}\` of ${what}`);
    if (Object.keys(value ?? {}).length > 0) left.push({ what: `${column} of ${what}`, why });
  }
  return {
    name: textOf(group["name"]),
    baseUrl: own || channel.baseUrl,
    ...(channel.behind === undefined ? {} : { behind: channel.behind }),
    preset: own === "" ? channel.preset : undefined,
    kind: channel.kind,
    enabled: !isNo(group["enabled"]),
  };
}

const rest = [
  ["models", "requests go on as clients send them, with the names of the provider's own models"],
  ["overrides", "its own settings"],
] as const;

interface Opening {
  readonly what: string;
  readonly open: Open;
  readonly left: Left[];
}

function keysOf(rows: readonly Fields[], { what, open, left }: Opening): { keys: FoundKey[]; sealed: number } {
  const keys: FoundKey[] = [];
  let sealed = 0;
  for (const row of rows) {
    // All are sealed: one that is as it stands is none.
    const opened = open(textOf(row["data"]), textOf(row["fingerprint"]) || "sealed");
    const isSealed = opened === undefined || !opened.startsWith("{");
    const data = isSealed ? undefined : jsonIn(opened, `A credential of ${what}`);
    const apiKey = isFields(data) ? textOf(data["api_key"]) : "";
    if (isSealed) sealed += 1;
    else if (apiKey === "") left.push({ what: `credential ${textOf(row["id"])} of ${what}`, why: "it has no API key" });
    else {
      keys.push({
        apiKey,
        label: textOf(row["name"]),
        weight: numberOf(row["weight_manual"]) ?? 1,
        enabled: textOf(row["status"]) !== "disabled",
      });
    }
  }
  return { keys, sealed };
}
