import type { Provider, Token } from "../../api/openapi.ts";

/** Where clients of a provider learn how to connect; of several, the list, from where one is chosen. */
export function connectPath(providers: readonly Pick<Provider, "slug">[] | undefined): string {
  const [only, ...others] = providers ?? [];
  return only !== undefined && others.length === 0
    ? `/settings/providers/${only.slug}?part=connect`
    : "/settings/providers";
}

/**
 * The names of the providers that a token is good for: none where all that it was limited to were deleted.
 *
 * @returns undefined for a token that is good for all of them
 */
export function reachOf(
  { providers: ids }: Pick<Token, "providers">,
  providers: readonly Pick<Provider, "id" | "name">[],
): readonly string[] | undefined {
  return ids === null ? undefined : providers.filter(({ id }) => ids.includes(id)).map(({ name }) => name);
}
