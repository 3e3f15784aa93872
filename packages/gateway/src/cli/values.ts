import { isIP } from "node:net";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** A text that is not what was expected. `expected` finishes the sentence "Expected `--port` to be …". */
export class Unfit extends Error {
  readonly expected: string;

  constructor(expected: string) {
    super(expected);
    this.expected = expected;
  }
}

export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text.trim());
    const fits = /^[+-]?\d+$/.test(text.trim()) && value >= min && value <= max;
    if (!fits) throw new Unfit(`an integer from ${min} to ${max}`);
    return value;
  };
}

/** A number with or without a fraction. */
export function seconds(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text.trim());
    const fits = /^\d+(\.\d+)?$/.test(text.trim()) && value >= min && value <= max;
    if (!fits) throw new Unfit(`seconds from ${min} to ${max}`);
    return value;
  };
}

export function oneOf<const T extends string>(choices: readonly T[]): (text: string) => T {
  return (text) => {
    const found = choices.find((choice) => choice === text.trim().toLowerCase());
    if (found === undefined) throw new Unfit(`one of ${choices.join(", ")}`);
    return found;
  };
}

const truths = ["1", "true", "yes", "on"];
const falsehoods = ["0", "false", "no", "off"];

/** A switch, as it stands in an environment variable. */
export function yesOrNo(text: string): boolean {
  const word = text.trim().toLowerCase();
  if (truths.includes(word)) return true;
  if (falsehoods.includes(word)) return false;
  throw new Unfit(`one of ${[...truths, ...falsehoods].join(", ")}`);
}

/** Values separated by commas; empty ones are passed over. */
export function list<T>(parse: (text: string) => T): (text: string) => readonly T[] {
  return (text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "")
      .map(parse);
}

/** A path, absolute from here on; `~/` is the home directory also where no shell has replaced it. */
export function path(text: string): string {
  if (text.trim() === "" || text.includes("\0")) throw new Unfit("a path");
  return resolve(text === "~" || text.startsWith("~/") ? join(homedir(), text.slice(1)) : text);
}

const hostName = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$/i;

/** An IP address (IPv6 with or without brackets) or a host name, in lower case; no scheme, no port. */
export function host(text: string): string {
  const bare = text
    .trim()
    .replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();
  if (isIP(bare) !== 0) return bare;
  // Digits and dots alone are an address that went wrong, not a name.
  if (!hostName.test(bare) || /^[\d.]+$/.test(bare))
    throw new Unfit("an IP address or a host name, without scheme and port");
  return bare;
}

/** A host with or without a port; with one, that port alone is meant. */
export function hostAndPort(text: string): string {
  const match = /^(\[.*\]|[^:]*):(\d+)$/.exec(text.trim());
  if (match === null) return host(text);
  const [, name = "", port = ""] = match;
  if (Number(port) < 1 || Number(port) > 65_535)
    throw new Unfit("a host name with a port from 1 to 65535, or without one");
  const bare = host(name);
  return `${bare.includes(":") ? `[${bare}]` : bare}:${port}`;
}

/** What a browser sends as `Origin`: scheme, host and port, nothing behind. */
export function origin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const fits = url !== undefined && /^https?:$/.test(url.protocol) && /^[^/]*\/\/[^/?#@]+\/?$/.test(text);
  if (!fits) throw new Unfit("an origin such as https://chat.example.com, without a path");
  return url.origin;
}

/** The address of a gateway: http or https, no credentials, no query; without a slash at the end. */
export function address(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const fits =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.username === "" &&
    url.password === "" &&
    url.search === "";
  if (!fits) throw new Unfit("an http or https address without credentials, such as http://127.0.0.1:8787");
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** The fewest characters of an admin token; the control plane holds to the same. */
export const shortestToken = 16;

/** What can stand in an HTTP header as a token, and cannot be guessed by trying. */
export function token(text: string): string {
  const value = text.trim();
  const fits = /^[\x21-\x7e]+$/.test(value) && value.length >= shortestToken;
  if (!fits) {
    throw new Unfit(
      `${shortestToken} or more characters of ASCII without white space (openssl rand -hex 24 makes some)`,
    );
  }
  return value;
}

/** 32 bytes in base64, with or without padding, either alphabet. */
export function masterKey(text: string): string {
  const value = text.trim();
  const fits = /^[\w+/-]+={0,2}$/.test(value) && Buffer.from(value, "base64").length === 32;
  if (!fits) throw new Unfit("32 bytes in base64 (make some with: openssl rand -base64 32)");
  return value;
}
