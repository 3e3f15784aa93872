import type { Setup } from "./contender.ts";
import type { LoadOptions } from "./load.ts";

type Traffic = Omit<LoadOptions, "port" | "path" | "token" | "headers">;

interface Common {
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** Each is measured, one after the other, with every contender that has it; default: plain. */
  readonly setups?: readonly Setup[];
  /** Default: all. */
  readonly contenders?: readonly string[];
}

/** A load on a warm contender. */
export interface LoadWorkload extends Common {
  readonly kind: "load";
  readonly traffic: Traffic;
}

/** Streams that say little, held by a contender that was just started. */
export interface HeldWorkload extends Common {
  readonly kind: "held";
  readonly streams: number;
}

/** A start, up to the first answer, and what it takes at rest. */
export interface StartWorkload extends Common {
  readonly kind: "start";
}

export type Workload = LoadWorkload | HeldWorkload | StartWorkload;

const chat = { bodyBytes: 1_000, session: "header", sessions: 64 } as const;
const longChat = { bodyBytes: 100_000, sessions: 64, connections: 64 } as const;
const gateways = ["nginx", "undici", "keywheel"];
const gatewaysAndNone = ["direct", ...gateways];

/**
 * What is measured, in this order.
 *
 * @param manySessions how many are bound in the setup of that name
 */
export function workloadsOf(manySessions: number): readonly Workload[] {
  return [
    { kind: "load", name: "1k64", title: "1 KB JSON, 64 connections", traffic: { ...chat, connections: 64 } },
    { kind: "load", name: "1k256", title: "1 KB JSON, 256 connections", traffic: { ...chat, connections: 256 } },
    {
      kind: "load",
      name: "100k",
      title: "100 KB bodies, session in a header",
      traffic: { ...longChat, session: "header" },
    },
    {
      kind: "load",
      name: "100k-field",
      title: "100 KB bodies, session in the body's last field",
      contenders: gateways,
      traffic: { ...longChat, session: "field" },
    },
    {
      kind: "load",
      name: "100k-content",
      title: "100 KB bodies, no session: chats that go on",
      contenders: gateways,
      traffic: { ...longChat, session: "none", turns: 8 },
    },
    { kind: "load", name: "latency", title: "1 KB JSON, one connection, warm", traffic: { ...chat, connections: 1 } },
    {
      kind: "load",
      name: "open200",
      title: "1 KB JSON, 200 requests a second (open loop)",
      contenders: [...gatewaysAndNone, "portkey", "ccflare"],
      traffic: { ...chat, loop: "open", rate: 200, connections: 32 },
    },
    {
      kind: "load",
      name: "streams200",
      title: "200 streams, one event every 10 ms",
      traffic: { ...chat, loop: "streams", connections: 200, model: "stream-60-150-10" },
    },
    {
      kind: "load",
      name: "flood",
      title: "20 streams, events as fast as they are read",
      contenders: [...gatewaysAndNone, "portkey"],
      traffic: { ...chat, loop: "streams", connections: 20, model: "stream-2000-150-0" },
    },
    { kind: "held", name: "idle1000", title: "1,000 open streams, one event a second", streams: 1_000 },
    {
      kind: "held",
      name: "idle5000",
      title: "5,000 open streams, one event a second",
      contenders: gateways,
      streams: 5_000,
    },
    {
      kind: "load",
      name: "failover",
      title: "1 KB JSON, one connection, every request refused once",
      setups: ["plain", "failover"],
      contenders: ["nginx", "keywheel", "portkey"],
      traffic: { bodyBytes: 1_000, session: "none", connections: 1, model: "refuse-turns" },
    },
    {
      kind: "load",
      name: "keys",
      title: "1 KB JSON, 64 connections, 3 and 10,000 keys",
      setups: ["plain", "many-keys"],
      contenders: ["keywheel"],
      // Each request takes a turn of the wheel.
      traffic: { bodyBytes: 1_000, session: "none", connections: 64 },
    },
    {
      kind: "load",
      name: "sessions",
      title: `1 KB JSON, 64 connections, few and ${manySessions.toLocaleString("en")} sessions bound`,
      setups: ["plain", "many-sessions"],
      contenders: ["keywheel"],
      traffic: { ...chat, connections: 64 },
    },
    {
      kind: "load",
      name: "tls64",
      title: "1 KB JSON, 64 connections, upstream behind TLS",
      setups: ["tls"],
      contenders: gateways,
      traffic: { ...chat, connections: 64 },
    },
    { kind: "start", name: "start", title: "Start to the first answer, and memory at rest" },
  ];
}

/** What the failover's traffic is to a contender that is not refused: the same, with a model that is always served. */
export function trafficOf({ name, traffic }: LoadWorkload, setup: Setup, manySessions: number): Traffic {
  if (name === "failover" && setup === "plain") return { ...traffic, model: "bench" };
  if (setup === "many-sessions") return { ...traffic, sessions: manySessions, isRandom: true };
  return traffic;
}
