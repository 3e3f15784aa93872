import { type ChannelType, newApiTypes, oneApiTypes } from "./channel-types.ts";
import type { Found, FoundKey, FoundPool, Left, Reader } from "./foreign.ts";
import {
  type Fields,
  fileIn,
  isFields,
  jsonIn,
  notThat,
  numberOf,
  objectsOf,
  parseJson,
  readText,
  textOf,
} from "./parts.ts";
import { withTables } from "./tables.ts";

/** 1: on; 2: off by a person; 3: off by itself. */
const isOn = 1;

/**
 * new-api: the SQLite file `one-api.db` (table `channels`, with several keys in one since 0.8.6), a dump of its database in MySQL
 * or PostgreSQL, or channels as JSON.
 *
 * @see https://github.com/QuantumNous/new-api model/channel.go, constant/channel.go, relay/channel/openai/adaptor.go
 */
export const readNewApi: Reader = ({ path }) => readChannels(path, { tool: "new-api", types: newApiTypes });

/** one-api: the same. @see https://github.com/songquanpeng/one-api model/channel.go, relay/channeltype */
export const readOneApi: Reader = ({ path }) => readChannels(path, { tool: "one-api", types: oneApiTypes });

interface Tool {
  readonly tool: string;
  readonly types: Readonly<Record<number, ChannelType>>;
}

async function readChannels(path: string, tool: Tool): Promise<Found> {
  const file = fileIn(path, ["one-api.db", "data/one-api.db", "new-api.db"]);
  const found = await withTables(file, ["channels", "tokens"], (tables) => {
    if (!tables.has("channels")) throw notThat(file, tool.tool, "it has no table `channels`");
    const { pools, left } = foundIn(tables.rows("channels"), tool);
    const clients = tables.has("tokens") ? tables.count("tokens") : 0;
    const why = "keys of clients: make gateway tokens instead (keywheel token create)";
    return { pools, left: clients === 0 ? left : [...left, { what: `${clients} tokens`, why }] };
  });
  if (found !== undefined) return found;
  const channels = channelsIn(parseJson(readText(file), file));
  if (channels === undefined)
    throw notThat(file, tool.tool, "it is no SQLite database, no dump of one and no list of channels");
  return foundIn(channels, tool);
}

/** A list, or the answer of its API: `{data: […]}`, `{data: {items: […]}}`. */
function channelsIn(value: unknown): readonly Fields[] | undefined {
  if (Array.isArray(value)) return objectsOf(value);
  if (!isFields(value)) return undefined;
  const { data } = value;
  if (Array.isArray(data)) return objectsOf(data);
  return isFields(data) && Array.isArray(data["items"]) ? objectsOf(data["items"]) : undefined;
}

function foundIn(channels: readonly Fields[], { types, tool }: Tool): Found {
  const left: Left[] = [];
  const pools = channels.flatMap((channel) => {
    const what = `channel ${textOf(channel["id"])} "${textOf(channel["name"])}"`;
    const number = numberOf(channel["type"]) ?? 0;
    const type = Object.hasOwn(types, number) ? types[number] : undefined;
    if (type === undefined) {
      left.push({ what, why: `keys of its type (${number} of ${tool}) cannot be sent on as they are` });
      return [];
    }
    const pool = poolOf(channel, type, what, left);
    return pool === undefined ? [] : [pool];
  });
  return { pools, left };
}

function poolOf(channel: Fields, type: ChannelType, what: string, left: Left[]): FoundPool | undefined {
  const keys = keysOf(channel);
  if (keys.length === 0) {
    left.push({ what, why: "it comes without a key, as all do that its API lists: give the database file" });
    return undefined;
  }
  const own = baseUrlOf(channel, type);
  if (own === undefined) {
    left.push({ what, why: "its address is that of one single endpoint, not a base URL" });
    return undefined;
  }
  if (own === "" && type.baseUrl === undefined && (type.preset === undefined || type.preset === "azure")) {
    left.push({ what, why: "it has no base URL" });
    return undefined;
  }
  const priority = numberOf(channel["priority"]) ?? 0;
  if (priority !== 0) {
    left.push({ what: `the priority of ${what}`, why: "all keys of a pool take their turns; weights say how often" });
  }
  const rest = ["model_mapping", "param_override", "header_override", "status_code_mapping"].filter(
    (column) => !["", "{}", "null"].includes(textOf(channel[column])),
  );
  if (rest.length > 0) left.push({ what: `${rest.join(", ")} of ${what}`, why: "requests go on as clients send them" });
  return {
    name: textOf(channel["name"]),
    baseUrl: own === "" ? type.baseUrl : own,
    // An address of its own for a type that has one here is complete.
    ...(type.behind === undefined ? {} : { behind: type.behind }),
    preset: own === "" ? type.preset : undefined,
    kind: type.kind,
    enabled: true,
    keys,
  };
}

/** @returns an empty text for none, undefined for what is no base URL */
function baseUrlOf(channel: Fields, { isEndpoint }: ChannelType): string | undefined {
  const own = textOf(channel["base_url"]);
  if (own === "" || isEndpoint !== true) return own;
  const base = own.replace(/\/(chat\/completions|responses|messages|embeddings)\/?$/, "");
  return base === own ? undefined : base;
}

function keysOf(channel: Fields): FoundKey[] {
  const named = jsonIn(channel["channel_info"], "`channel_info` of a channel");
  const info = isFields(named) ? named : {};
  const statuses = isFields(info["multi_key_status_list"]) ? info["multi_key_status_list"] : {};
  const isMany = info["is_multi_key"] === true;
  const label = textOf(channel["name"]);
  const isEnabled = (numberOf(channel["status"]) ?? isOn) === isOn;
  const weight = numberOf(channel["weight"]) ?? 0;
  return valuesOf(textOf(channel["key"]), isMany).map((apiKey, index) => ({
    apiKey,
    label,
    weight: weight === 0 ? 1 : weight,
    enabled: isEnabled && (statuses[String(index)] ?? isOn) === isOn,
    // The column, and as its API calls it.
    group: textOf(channel["open_ai_organization"]) || textOf(channel["openai_organization"]),
  }));
}

/** Several keys stand one a line, or as a JSON list. */
function valuesOf(text: string, isMany: boolean): string[] {
  if (text === "") return [];
  if (!isMany) return [text];
  if (!text.startsWith("[")) return text.split("\n").map((line) => line.trim());
  const list = parseJson(text, "A list of keys");
  return Array.isArray(list) ? list.map((item) => (typeof item === "string" ? item : JSON.stringify(item))) : [];
}
