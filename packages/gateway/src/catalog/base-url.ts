import { BlockList, isIP } from "node:net";
import type { FieldFault } from "../contract/field-faults.ts";
import { trimInvisible } from "./key-text.ts";

export interface BaseUrlOptions {
  /** Lets link-local and metadata addresses through (`--allow-private-metadata`). */
  readonly allowPrivateMetadata: boolean;
}

export type ParsedBaseUrl =
  | { readonly ok: true; readonly url: string }
  | { readonly ok: false; readonly code: BaseUrlFault; readonly problem: string };

/** What is wrong with a base URL, as programs match on it. */
export type BaseUrlFault = Extract<
  FieldFault,
  | "empty"
  | "too_long"
  | "white_space"
  | "backslash"
  | "placeholder"
  | "scheme"
  | "no_url"
  | "credentials"
  | "query"
  | "fragment"
  | "port"
  | "endpoint"
  | "metadata_host"
>;

export interface Refusal {
  readonly code: BaseUrlFault;
  readonly problem: string;
}

const maxUrlLength = 2048;

/** The base URL of a provider as it is stored: checked, without a slash at its end. */
export function parseBaseUrl(raw: string, options: BaseUrlOptions): ParsedBaseUrl {
  const { text } = trimInvisible(raw);
  const problem = problemOfText(text, "base URL");
  if (problem !== undefined) return { ok: false, ...problem };
  const url = URL.parse(text);
  if (url === null || url.hostname === "") {
    return { ok: false, code: "no_url", problem: "This is no URL: write it as in https://api.example.com/v1" };
  }
  const refusal = problemOfUrl(url) ?? problemOfHost(url.hostname, options);
  if (refusal !== undefined) return { ok: false, ...refusal };
  return { ok: true, url: `${url.origin}${url.pathname.replace(/\/+$/, "")}` };
}

/** What the URL parser would repair or lose in silence. @param what what the URL is called */
export function problemOfText(text: string, what: string): Refusal | undefined {
  if (text === "") return { code: "empty", problem: `The ${what} is empty` };
  if (text.length > maxUrlLength)
    return { code: "too_long", problem: `The ${what} has more than ${maxUrlLength} characters` };
  if (/[\s\p{Cc}]/u.test(text))
    return { code: "white_space", problem: `There is white space or a line break inside the ${what}` };
  if (text.includes("\\")) return { code: "backslash", problem: `There is a backslash in the ${what}: write slashes` };
  if (/[{}<>]/.test(text))
    return { code: "placeholder", problem: `There is a placeholder in the ${what}: put your own value in its place` };
  if (!/^https?:\/\//i.test(text))
    return { code: "scheme", problem: `The ${what} must begin with https:// or http://` };
  return undefined;
}

function problemOfUrl(url: URL): Refusal | undefined {
  if (url.username !== "" || url.password !== "") {
    return { code: "credentials", problem: "There are credentials in the base URL: add the key to the pool instead" };
  }
  if (url.href.includes("?")) {
    return {
      code: "query",
      problem: "There is a query (`?…`) in the base URL: leave it out; clients send their own with each request",
    };
  }
  if (url.href.includes("#"))
    return {
      code: "fragment",
      problem: "There is a fragment (`#…`) in the base URL, which is never sent: leave it out",
    };
  if (url.port === "0") return { code: "port", problem: "Port 0 cannot be connected to" };
  const endpoint = /\/(chat\/completions|v1\/messages|v1\/responses)\/*$/.exec(url.pathname)?.[1];
  if (endpoint !== undefined)
    return { code: "endpoint", problem: `This is the address of an endpoint: leave out /${endpoint} at its end` };
  return undefined;
}

/** Whether a host is one that nothing may be sent to. */
export function problemOfHost(hostname: string, { allowPrivateMetadata }: BaseUrlOptions): Refusal | undefined {
  if (allowPrivateMetadata || !isMetadataHost(hostname)) return undefined;
  const problem =
    "This is a link-local or cloud metadata address, which could hand out this machine's credentials. " +
    "If you mean it, start the gateway with --allow-private-metadata";
  return { code: "metadata_host", problem };
}

const metadataNames: ReadonlySet<string> = new Set([
  "metadata",
  "metadata.google.internal",
  "metadata.goog",
  "instance-data",
  "instance-data.ec2.internal",
]);

const metadataAddresses = listMetadataAddresses();

function listMetadataAddresses(): BlockList {
  const list = new BlockList();
  // IPv4-mapped IPv6 addresses are compared with the IPv4 entries by BlockList itself.
  list.addSubnet("169.254.0.0", 16, "ipv4"); // RFC 3927 link-local: AWS, Azure, GCP, DigitalOcean, Tencent …
  list.addAddress("100.100.100.200", "ipv4"); // Alibaba Cloud
  list.addAddress("192.0.0.192", "ipv4"); // Oracle Cloud
  list.addAddress("168.63.129.16", "ipv4"); // Azure's wire server
  list.addSubnet("fe80::", 10, "ipv6"); // RFC 4291 link-local
  list.addAddress("fd00:ec2::254", "ipv6"); // AWS
  list.addAddress("fd20:ce::254", "ipv6"); // GCP
  // The same IPv4 addresses inside others: IPv4-compatible, NAT64 (RFC 6052), 6to4 (RFC 3056).
  for (const [high, low, bits] of [
    ["a9fe", "0", 16],
    ["6464", "64c8", 32],
    ["c000", "c0", 32],
    ["a83f", "8110", 32],
  ] as const) {
    list.addSubnet(`::${high}:${low}`, 96 + bits, "ipv6");
    list.addSubnet(`64:ff9b::${high}:${low}`, 96 + bits, "ipv6");
    list.addSubnet(`2002:${high}:${low}::`, 16 + bits, "ipv6");
  }
  return list;
}

/**
 * Whether a host is one from which a cloud hands out credentials, or link-local.
 *
 * The URL parser has turned decimal, hexadecimal and octal IPv4 into dotted form before. A name that resolves to such an
 * address is seen only when it is connected to: ask again then, with the address.
 *
 * @param host a host name or an IP address, IPv6 with or without brackets
 */
export function isMetadataHost(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
  if (metadataNames.has(name)) return true;
  const address = name.replace(/%.*$/, "");
  const family = isIP(address);
  return family !== 0 && metadataAddresses.check(address, family === 4 ? "ipv4" : "ipv6");
}

/** Whether two base URLs lead to the same place, so that keys stored for one may go to the other. */
export function sameOrigin(one: string, other: string): boolean {
  return new URL(one).origin === new URL(other).origin;
}
