import type { KeyView, Reply, RunningGateway } from "@keywheel/testkit";
import { eventually, poolOf, type PooledProvider, type PoolOptions } from "../pooled-provider.ts";

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

/** A notice of the gateway's, as `/api` shows it. */
export interface NoticeView {
  readonly code: string;
  readonly provider_id: string | null;
  readonly message: string;
  readonly action: { readonly method: string; readonly path: string; readonly body: object } | null;
  readonly resolved_at: string | null;
}

/** Waits for a notice about the pool's provider that holds. */
export async function noticeOf(gateway: RunningGateway, pool: PooledProvider, code: string): Promise<NoticeView> {
  const found = await eventually(
    () => noticesOf(gateway, pool),
    (notices) => notices.some((notice) => notice.code === code),
    { what: `the notice ${code}` },
  );
  const [notice] = found.filter((one) => one.code === code);
  if (notice === undefined) throw new Error("the notice was there and is not");
  return notice;
}

/** The notices about the pool's provider that hold. */
export async function noticesOf(gateway: RunningGateway, pool: PooledProvider): Promise<NoticeView[]> {
  const { data } = await gateway.api<{ data: NoticeView[] }>("GET", "/notices");
  return data.filter((notice) => notice.provider_id === pool.record.id && notice.resolved_at === null);
}
