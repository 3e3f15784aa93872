import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import type { Cut, CutOff, Isolation } from "./cut-off.ts";
import { isolateByRelays } from "./relay.ts";

/** Our namespaces begin so; the process that made one comes behind it. */
const nameBegin = "keywheel-test-";
/** Where `ip netns` keeps them. */
const namespaces = "/run/netns";
/**
 * 198.18.0.0/15 is set apart for measurements between network devices: it is nobody's network, and no packet to it leaves the
 * machine while our interfaces are there.
 *
 * @see RFC 2544, appendix C.2.2
 */
const networks = 32_768;
/** A hardware address that nobody has. */
const nobody = "02:00:00:00:00:01";

let made = 0;

/**
 * A namespace of the network with a wire for each way, where that is permitted; else relays. `KEYWHEEL_TEST_ISOLATION=relays`
 * asks for those.
 *
 * A namespace of a user's own (`unshare -Urn`) would not do: nobody without rights can lay a wire from there to this side.
 */
export function isolate(): Isolation {
  if (process.env["KEYWHEEL_TEST_ISOLATION"] === "relays") return isolateByRelays();
  try {
    removeLeftovers();
    return new Namespace();
  } catch (error) {
    const { way, ...rest } = isolateByRelays();
    const [why] = String(error instanceof Error ? error.message : error).split("\n");
    return { ...rest, way: `${way}, since there are no namespaces of the network here (${why})` };
  }
}

/** Removes the namespaces of processes that have ended without doing so, and ends what still runs in them. */
export function removeLeftovers(): void {
  for (const name of existsSync(namespaces) ? readdirSync(namespaces) : []) {
    const maker = new RegExp(`^${nameBegin}(\\d+)-`).exec(name)?.[1];
    if (maker !== undefined && !existsSync(`/proc/${maker}`)) removeNamespace(name);
  }
}

class Namespace implements Isolation {
  readonly way: string;
  readonly prefix: readonly string[];
  readonly host: string;
  readonly outside: string;
  readonly #name: string;
  readonly #wires: Wire[] = [];
  readonly #onExit = (): void => removeNamespace(this.#name);

  constructor() {
    this.#name = `${nameBegin}${process.pid}-${made++}`;
    this.way = `the network namespace ${this.#name}`;
    this.prefix = ["ip", "netns", "exec", this.#name];
    ip("netns", "add", this.#name);
    process.on("exit", this.#onExit);
    try {
      // Where a container may make them, it may still not run anything in them.
      ip("netns", "exec", this.#name, "true");
      inside(this.#name, "link", "set", "lo", "up");
      const front = this.#wire();
      this.host = front.there;
      this.outside = front.here;
    } catch (error) {
      this.#remove();
      throw error;
    }
  }

  async addWay(): Promise<CutOff> {
    const wire = this.#wire();
    return {
      listenOn: [wire.here],
      lets: [`${wire.there}/32`],
      leadTo: async (port) => ({ host: wire.here, port }),
      cut: async (how) => wire.cut(how),
      heal: async () => wire.heal(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#remove();
  }

  #wire(): Wire {
    const wire = new Wire(this.#name);
    this.#wires.push(wire);
    return wire;
  }

  #remove(): void {
    process.off("exit", this.#onExit);
    removeNamespace(this.#name);
  }
}

/** A pair of interfaces, one on each side. */
class Wire {
  readonly here: string;
  readonly there: string;
  readonly #namespace: string;
  readonly #endHere: string;
  readonly #endThere: string;

  constructor(namespace: string) {
    const number = made++;
    this.#namespace = namespace;
    // No more than fifteen characters: the kernel takes no longer name.
    this.#endHere = `kw${process.pid}h${number}`;
    this.#endThere = `kw${process.pid}n${number}`;
    const network = freeNetwork(number);
    [this.here, this.there] = [addressIn(network, 1), addressIn(network, 2)];
    ip("link", "add", this.#endHere, "type", "veth", "peer", "name", this.#endThere, "netns", namespace);
    ip("address", "add", `${this.here}/30`, "dev", this.#endHere);
    ip("link", "set", this.#endHere, "up");
    inside(namespace, "address", "add", `${this.there}/30`, "dev", this.#endThere);
    inside(namespace, "link", "set", this.#endThere, "up");
  }

  cut(how: Cut): void {
    if (how === "unreachable") {
      inside(this.#namespace, "link", "set", this.#endThere, "down");
      return;
    }
    // Both ends send to somebody who is not there. An end that is switched off would take its route with it: what the server
    // has still to say would leave the machine by another.
    ip("neighbour", "replace", this.there, "lladdr", nobody, "nud", "permanent", "dev", this.#endHere);
    const there = ["neighbour", "replace", this.here, "lladdr", nobody, "nud", "permanent", "dev", this.#endThere];
    inside(this.#namespace, ...there);
  }

  heal(): void {
    inside(this.#namespace, "link", "set", this.#endThere, "up");
    ip("neighbour", "flush", "dev", this.#endHere, "nud", "permanent");
    inside(this.#namespace, "neighbour", "flush", "dev", this.#endThere, "nud", "permanent");
  }
}

/** @throws Error with the program's own words */
function ip(...words: readonly string[]): string {
  return execFileSync("ip", words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

function inside(namespace: string, ...words: readonly string[]): string {
  return ip("-n", namespace, ...words);
}

function freeNetwork(number: number): number {
  const taken = ip("-4", "-oneline", "address", "show");
  for (let step = 0; step < networks; step++) {
    const network = (process.pid * 8 + number + step) % networks;
    if (!taken.includes(` ${addressIn(network, 1)}/`)) return network;
  }
  throw new Error("Every network of 198.18.0.0/15 is taken");
}

function addressIn(network: number, host: number): string {
  const number = network * 4 + host;
  return `198.${18 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
}

/** With its interfaces, and with what runs in it. Twice is once. */
function removeNamespace(name: string): void {
  if (!existsSync(`${namespaces}/${name}`)) return;
  try {
    for (const pid of ip("netns", "pids", name).split(/\s+/).filter(Boolean)) endProcess(Number(pid));
    ip("netns", "delete", name);
  } catch (error) {
    // Another run may just have removed the same.
    if (existsSync(`${namespaces}/${name}`)) throw error;
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has just ended by itself.
  }
}
