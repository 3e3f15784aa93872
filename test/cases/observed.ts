import type { KeyView, Reply, RunningGateway } from "@keywheel/testkit";
import { poolOf, type PooledProvider, type PoolOptions } from "../pooled-provider.ts";

/** How long a key's present rest was made, ms: the API tells when it ends and when its reason was seen. */
export function restMsOf(key: KeyView): number {
  return Date.parse(key.cooldown_until ?? "") - Date.parse(key.status_reason?.at ?? "");
}

/** What an answer of the provider to the first key of a pool did to it, and what the client got. */
export interface Aftermath {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The key that was answered so. */
  readonly key: KeyView;
  readonly restMs: number;
  /** Which keys were asked, in order. */
  readonly picks: string;
  /** The keys behind the first one. */
  readonly others: readonly KeyView[];
}

/** Sends one plain call to a pool of its own whose first key is answered so; every other key is well. */
export async function afterAnswer(
  gateway: RunningGateway,
  answer: Reply,
  options: PoolOptions & { readonly stream?: boolean } = {},
): Promise<Aftermath> {
  await using pool = await poolOf(gateway, options);
  pool.provider.forKey(pool.valueOf("A")).next(answer);
  const response = await pool.send({ stream: options.stream === true });
  const text = await response.text();
  const [key, ...others] = await gateway.keys(pool.record);
  if (key === undefined) throw new Error("the pool was made without a key");
  const { status, headers } = response;
  return { status, headers, text, key, restMs: restMsOf(key), picks: pool.provider.picks(), others };
}

/** What of the pool's keys a failure would have changed, in order. */
export async function healthOf(gateway: RunningGateway, pool: PooledProvider): Promise<string[]> {
  return (await gateway.keys(pool.record)).map((key) => `${key.status} ${key.consecutive_failures}`);
}
