/** Where the shared state lies, as `--redis-url` names it. */
export interface RedisAddress {
  readonly kind: "single" | "cluster" | "sentinel";
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  /** The name that the sentinels know the server by. */
  readonly master: string | undefined;
}

/** What a URL may be, for a person who got it wrong. */
export const redisUrlForms =
  "redis://host:6379, rediss:// with TLS, several hosts of a cluster separated by commas (or ?cluster=true), or sentinels with ?sentinel=<name of the master>";

/**
 * Reads the address of one server (`redis://:password@host:6379/0`), of a cluster (`redis://a:7000,b:7001` or
 * `?cluster=true`) or of sentinels (`redis://a:26379,b:26379?sentinel=mymaster`). Valkey is the same.
 *
 * @returns undefined if it is none of these
 */
export function readRedisUrl(text: string): RedisAddress | undefined {
  const parts = /^(rediss?):\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/(\d{0,2}))?(?:\?([^#]*))?$/.exec(text.trim());
  if (parts === null) return undefined;
  const [, scheme, login = "", places = "", db = "", query = ""] = parts;
  const hosts = places.split(",").map(readHost);
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].some((name) => name !== "cluster" && name !== "sentinel");
  if (unknown || !hosts.every((host) => host !== undefined)) return undefined;
  const master = parameters.get("sentinel") ?? undefined;
  const isCluster = parameters.get("cluster") === "true" || hosts.length > 1;
  const kind = master !== undefined ? "sentinel" : isCluster ? "cluster" : "single";
  if (master === "" || (kind === "cluster" && Number(db) > 0)) return undefined;
  try {
    const { username, password } = readLogin(login);
    return { kind, hosts, tls: scheme === "rediss", username, password, db: Number(db), master };
  } catch {
    // A stray `%` in the login.
    return undefined;
  }
}

function readLogin(login: string): Pick<RedisAddress, "username" | "password"> {
  const colon = login.indexOf(":");
  const [name, password] = colon === -1 ? [login, ""] : [login.slice(0, colon), login.slice(colon + 1)];
  const valueOf = (part: string): string | undefined => (part === "" ? undefined : decodeURIComponent(part));
  return { username: valueOf(name), password: valueOf(password) };
}

function readHost(place: string): { host: string; port: number } | undefined {
  const parts = /^(\[[0-9a-f:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/i.exec(place);
  if (parts === null) return undefined;
  const [, host = "", port = "6379"] = parts;
  if (Number(port) < 1 || Number(port) > 65_535) return undefined;
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}
