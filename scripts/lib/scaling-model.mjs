/**
 * What a number of gateways and a rate of requests come to, from what each kind of work costs (`npm run costs`).
 *
 * Processor time in µs on the machine that docs/scaling.md names; another machine's figures go in here.
 */
export const measured = {
  /** A gateway's: a request of a session, and hearing of another gateway's new binding or failure. */
  gateway: { request: 800, push: 60 },
  /** Redis's: a first binding, a refusal and what follows from it, a use of a bound session, a message to one listener. */
  redis: { binding: 130, refusal: 650, use: 5, listener: 1.8, idleGateway: 46, idlePool: 25 },
  /** PostgreSQL's: a request with its sums and session, a gateway that asks for changes, transactions on the same sums a second. */
  postgres: { request: 150, idleGateway: 500, batchesPerSecond: 600 },
};

/** What is reckoned with. */
export const assumed = {
  pools: 10,
  /** Of all requests: those that begin a session. The others belong to one. */
  newSessions: 0.1,
  /** Of all requests: refused with 429 by a provider and sent with another key. */
  refusals: 0.001,
  /** Processors of the database's machine. */
  postgresProcessors: 16,
  /** Connections that it is set to take: 4,000 at some 3 MB. */
  postgresConnections: 4_000,
};

/** New bindings are told to as many gateways as this, beyond which each asks (`state/script/bindings.ts`). */
const toldGateways = 16;
/** Beyond that many, one in so many is told, to see how many there are. */
const sampled = 256;
/** A gateway writes down what it served twice a second, in transactions of this many requests at the most. */
const batchesPerSecond = 2;
const requestsInBatch = 250;

/**
 * @param {number} gateways
 * @param {number} requests a second, over all of them
 * @returns {{ name: string, share: number }[]} how much of each part is used, 1 for all of it
 */
export function sharesOf(gateways, requests) {
  const { gateway, redis, postgres } = measured;
  const begun = requests * assumed.newSessions;
  const refused = requests * assumed.refusals;
  const pushes = (gateways <= toldGateways ? begun : begun / sampled) + 4 * refused;
  const batches = Math.max(Math.min(requests, gateways * batchesPerSecond), requests / requestsInBatch);
  const micros = {
    gateway: (requests / gateways) * gateway.request + pushes * gateway.push,
    redis:
      begun * redis.binding +
      (requests - begun) * redis.use +
      refused * redis.refusal +
      pushes * gateways * redis.listener +
      gateways * (redis.idleGateway + assumed.pools * redis.idlePool),
    postgres: requests * postgres.request + gateways * postgres.idleGateway,
  };
  return [
    { name: "gateway", share: micros.gateway / 1e6 },
    { name: "Redis", share: micros.redis / 1e6 },
    { name: "PostgreSQL", share: micros.postgres / 1e6 / assumed.postgresProcessors },
    { name: "sums", share: batches / postgres.batchesPerSecond },
    { name: "connections", share: (4 * gateways) / assumed.postgresConnections },
  ];
}

const counts = [1, 3, 10, 100, 1_000];
const rates = [100, 1_000, 10_000, 100_000];

/** The table of docs/scaling.md, in Markdown. */
export function tableOfModel() {
  const number = new Intl.NumberFormat("en-US");
  const head = ["gateways", ...rates.map((rate) => `${number.format(rate)}/s`)];
  const rows = counts.map((count) => [number.format(count), ...rates.map((rate) => cellOf(count, rate))]);
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  const line = (/** @type {string[]} */ row) =>
    `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rows.map(line)].join("\n");
}

/** The two parts that are used most. @param {number} gateways @param {number} requests */
function cellOf(gateways, requests) {
  const [first, second] = sharesOf(gateways, requests).sort((one, other) => other.share - one.share);
  const percent = (/** @type {number} */ share) => (share < 0.1 ? (share * 100).toFixed(1) : Math.round(share * 100));
  return [first, second].map((part) => `${part?.name} ${percent(part?.share ?? 0)} %`).join(", ");
}
