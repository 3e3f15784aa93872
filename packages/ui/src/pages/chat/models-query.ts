import { queryOptions } from "@tanstack/react-query";
import type { Provider } from "../../api/openapi.ts";
import { call } from "../../api/client.ts";
import { talks } from "./dialects.ts";

/** The models that a provider names, without those that plainly hold no conversation. To look at them punishes no key. */
export function modelsQuery(provider: Provider) {
  return queryOptions({
    queryKey: ["models", provider.id, provider.base_url, provider.kind],
    queryFn: async ({ signal }): Promise<readonly string[]> => {
      const { data } = await call("GET /api/providers/{id}/models", { params: { id: provider.id }, signal });
      return data
        .map(({ id }) => id)
        .filter(talks)
        .toSorted();
    },
    enabled: provider.enabled,
    staleTime: 10 * 60_000,
    // Not every provider has such a list, and a name can always be typed.
    retry: false,
  });
}
