import { BlockList, isIP } from "node:net";

/** Hosts that are this machine, whatever they are called. */
const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");
// As a destination, "any address" is this machine.
loopback.addAddress("0.0.0.0", "ipv4");
loopback.addAddress("::", "ipv6");

/** @param host lower case, without brackets and final dot */
export function isLoopbackName(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || isIn(loopback, host);
}

/**
 * Reads `NO_PROXY`: names (with all names below them), `.domain`, `*.domain` (only those below), addresses, networks
 * (`10.0.0.0/8`), any of them but networks with a port, and `*`; parted by commas or blanks. What is none of these exempts
 * nothing, as in curl.
 *
 * @returns whether a host (lower case, without brackets and final dot) is reached directly
 */
export function readNoProxy(list: string): (host: string, port: number) => boolean {
  const entries = list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .map(readEntry);
  return (host, port) => entries.some((matches) => matches(host, port));
}

type Entry = (host: string, port: number) => boolean;

function readEntry(text: string): Entry {
  const network = /^\[?([0-9a-f.:]+)\]?\/(\d{1,3})$/.exec(text);
  if (network !== null) return readNetwork(network[1] ?? "", Number(network[2]));
  const { name, port: only } = split(text);
  const matches = readName(name);
  return (host, port) => (only === undefined || only === port) && matches(host);
}

/** An address of IPv6 has a port only behind brackets. */
function split(text: string): { readonly name: string; readonly port: number | undefined } {
  const match = /^\[(.+)\](?::(\d+))?$/.exec(text) ?? /^([^:]+):(\d+)$/.exec(text);
  if (match === null) return { name: text, port: undefined };
  return { name: match[1] ?? "", port: match[2] === undefined ? undefined : Number(match[2]) };
}

function readName(text: string): (host: string) => boolean {
  if (text === "*") return () => true;
  if (isIP(text) !== 0) return readNetwork(text, isIP(text) === 4 ? 32 : 128);
  const below = text.replace(/\.$/, "").replace(/^\*?\.?/, ".");
  const itself = text.startsWith("*") ? undefined : below.slice(1);
  return (host) => host === itself || host.endsWith(below);
}

function readNetwork(address: string, prefix: number): (host: string) => boolean {
  const family = isIP(address);
  if (family === 0 || prefix > (family === 4 ? 32 : 128)) return () => false;
  const block = new BlockList();
  block.addSubnet(address, prefix, family === 4 ? "ipv4" : "ipv6");
  return (host) => isIn(block, host);
}

function isIn(block: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && block.check(host, family === 4 ? "ipv4" : "ipv6");
}
