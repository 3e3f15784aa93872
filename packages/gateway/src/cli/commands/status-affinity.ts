import type { Context } from "./context.ts";
import type { Affinity, PoolAffinity, Status } from "./wire.ts";

type ProviderStatus = Status["providers"][number];

/** What a pool's affinity was worth in the last day. */
interface AffinityOfDay {
  /** Requests that asked a key. */
  readonly requests: number;
  /** Those that kept their key, of those that had one, 0 to 1; null where none had. */
  readonly kept_share: number | null;
  /** What part of the input came from the cache, 0 to 1; null where no answer told its input. */
  readonly cached_share: number | null;
}

/** The status with what is printed beside it: of each pool, its affinity in the last day; null where it cannot be read. */
export type FullStatus = Omit<Status, "providers"> & {
  readonly providers: readonly (ProviderStatus & { readonly affinity: AffinityOfDay | null })[];
};

/** Of the last day, by pool; undefined where it cannot be read. */
export async function readAffinity({ client }: Pick<Context, "client">): Promise<readonly PoolAffinity[] | undefined> {
  try {
    return (await client.call<Affinity>("GET", "/affinity")).data;
  } catch {
    // A database may be away. What is wrong is told from the status, which is worth showing all the same.
    return undefined;
  }
}

export function withAffinity(status: Status, affinity: readonly PoolAffinity[] | undefined): FullStatus {
  const ofDay = ({ id }: ProviderStatus): AffinityOfDay | null => {
    if (affinity === undefined) return null;
    const { kept_share = null, total } = affinityOf(affinity, id) ?? {};
    return { requests: total?.requests ?? 0, kept_share, cached_share: total?.cached_share ?? null };
  };
  return { ...status, providers: status.providers.map((provider) => ({ ...provider, affinity: ofDay(provider) })) };
}

export function affinityOf(affinity: readonly PoolAffinity[], providerId: string): PoolAffinity | undefined {
  return affinity.find(({ provider_id: of }) => of === providerId);
}
