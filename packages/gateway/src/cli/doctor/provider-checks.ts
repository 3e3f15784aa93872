import type { ApiClient } from "../client/api-client.ts";
import type { KeyOnTheWire, List, Provider } from "../commands/wire.ts";
import { counted, duration } from "../commands/words.ts";
import type { Upstream } from "../../data-plane/upstream.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const timeouts = { connectMs: 10_000, headersMs: 10_000, idleMs: 10_000 };
const isPresent = { isGone: false, onGone: () => () => {} };

/** What an answer of a provider told. */
export interface ProviderFinding {
  readonly check: Check;
  /** How far the provider's clock is ahead of ours; undefined if it did not say. */
  readonly skewMs?: number;
}

/** Whether a provider answers at all: name, way, certificate. No key is sent, so that "401" is a good answer. */
export async function checkProvider(
  { slug, base_url: baseUrl }: Pick<Provider, "slug" | "base_url">,
  upstream: Upstream,
): Promise<ProviderFinding> {
  const { origin, pathname } = new URL(baseUrl);
  const startedAt = performance.now();
  const headers = ["accept", "application/json", "user-agent", "keywheel-doctor"];
  const sent = await upstream.send({
    origin,
    method: "GET",
    path: pathname,
    headers,
    body: undefined,
    timeouts,
    presence: isPresent,
  });
  if (sent.kind !== "answer") {
    const message = sent.kind === "broken" ? sent.message : "No answer.";
    const advice = `Check the base URL (${baseUrl}), this machine's network, and the proxies in its environment.`;
    return { check: { ...fail("provider", message, advice), subject: slug } };
  }
  const { answer } = sent;
  answer.discard();
  const took = Math.round(performance.now() - startedAt);
  const { status, receivedAt } = answer;
  const message = `${origin} answers (${status} without a key, ${took} ms).`;
  const check = status < 500 ? ok("provider", message) : warn("provider", message, "See the provider's status page.");
  const told = Date.parse(answer.header("date") ?? "");
  // Half a second for the fraction that the header leaves out.
  return { check: { ...check, subject: slug }, ...(Number.isNaN(told) ? {} : { skewMs: told + 500 - receivedAt }) };
}

const tolerableMs = 30_000;
const badMs = 300_000;

/**
 * Whether this machine's clock agrees with those of the providers. The nearest of them counts: if one agrees, another
 * one is off, not we.
 */
export function checkClock(skews: readonly number[]): Check {
  const [nearest] = [...skews].sort((one, other) => Math.abs(one) - Math.abs(other));
  if (nearest === undefined) {
    return warn("clock", "It could not be compared: no provider told the time.", "Compare it with another clock.");
  }
  const off = Math.abs(nearest);
  if (off <= tolerableMs) return ok("clock", "It agrees with the providers'.");
  const message = `It is ${duration(off)} ${nearest > 0 ? "behind" : "ahead of"} the providers'.`;
  const advice = "Set it by NTP: certificates, the ends of tokens and waits that providers name depend on it.";
  return (off > badMs ? fail : warn)("clock", message, advice);
}

/** Whether every key that refers to a variable of the environment finds it. */
export async function checkReferences(client: ApiClient, providers: readonly Provider[]): Promise<Check> {
  const unresolved: string[] = [];
  for (const { id, slug } of providers) {
    // One after the other: a diagnosis must not be what overloads a gateway.
    const { data } = await client.call<List<KeyOnTheWire>>("GET", `/providers/${id}/keys`);
    for (const key of data) if (key.status === "unresolved") unresolved.push(`${key.api_key} (${slug})`);
  }
  if (unresolved.length === 0) return ok("references", "Every key has its value.");
  const some = unresolved.slice(0, 10).join(", ") + (unresolved.length > 10 ? ", …" : "");
  const where = client.url === undefined ? "here, or in the file of --env-file" : "where the gateway runs";
  const advice = `Set the variables ${where}, or replace these keys.`;
  return warn("references", `${counted(unresolved.length, "key")} cannot be resolved: ${some}.`, advice);
}
