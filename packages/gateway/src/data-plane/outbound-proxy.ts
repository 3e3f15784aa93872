import { KeywheelError, Secret } from "@keywheel/pool";
import { isLoopbackName, readNoProxy } from "./outbound-proxy-exempt.ts";

/** A proxy that stands between this machine and the providers. */
export interface OutboundProxy {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Host and port: what may be shown of it. */
  readonly name: string;
  /** The value of `proxy-authorization`, if its URL holds a name and a password. */
  readonly authorization: Secret | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxies of an environment, as curl reads it: `https_proxy` for providers on https, `http_proxy` for those on http,
 * neither for the hosts in `no_proxy`. Upper-case names count where the lower-case one is absent or empty.
 *
 * This machine is never reached through a proxy: there, "loopback" would be the proxy's (field case 65).
 */
export class OutboundProxies {
  readonly #proxies = new Map<string, OutboundProxy>();
  readonly #isExempt: (host: string, port: number) => boolean;

  /** @throws KeywheelError validation_failed for a proxy that cannot be used; going around it would be worse */
  constructor(environment: Environment) {
    for (const scheme of ["http", "https"]) {
      const proxy = readProxy(environment, `${scheme}_proxy`);
      if (proxy !== undefined) this.#proxies.set(`${scheme}:`, proxy);
    }
    this.#isExempt = readNoProxy(valueOf(environment, "no_proxy")?.text ?? "");
  }

  /** The proxy on the way to an origin, or undefined if it is reached directly. */
  proxyFor(origin: string): OutboundProxy | undefined {
    if (this.#proxies.size === 0) return undefined;
    const { protocol, hostname, port } = new URL(origin);
    const proxy = this.#proxies.get(protocol);
    if (proxy === undefined) return undefined;
    const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
    if (isLoopbackName(host)) return undefined;
    return this.#isExempt(host, Number(port) || defaultPorts[protocol] || 0) ? undefined : proxy;
  }
}

const defaultPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

function valueOf(environment: Environment, name: string): { readonly name: string; readonly text: string } | undefined {
  for (const spelling of [name, name.toUpperCase()]) {
    const text = environment[spelling]?.trim() ?? "";
    if (text !== "") return { name: spelling, text };
  }
  return undefined;
}

function readProxy(environment: Environment, wanted: string): OutboundProxy | undefined {
  const found = valueOf(environment, wanted);
  if (found === undefined) return undefined;
  const { name, text } = found;
  // Like curl: without a scheme it is an http proxy. `URL` would take the host for the scheme.
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    // The value is not repeated: it may hold a password.
    const hint = "Set it to http://host:port or https://host:port, or unset it.";
    throw new KeywheelError("validation_failed", `${name} is not the URL of an HTTP proxy.`, { hint });
  }
  const port = url.port === "" ? String(defaultPorts[url.protocol]) : url.port;
  return { origin: url.origin, name: `${url.hostname}:${port}`, authorization: basic(url) };
}

/** RFC 7617 */
function basic({ username, password }: URL): Secret | undefined {
  if (username === "" && password === "") return undefined;
  const pair = `${decoded(username)}:${decoded(password)}`;
  return new Secret(`Basic ${Buffer.from(pair).toString("base64")}`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A password with a bare percent sign, written as it is.
    return text;
  }
}
