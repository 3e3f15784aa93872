import { queryOptions } from "@tanstack/react-query";
import type { Provider } from "../../api/openapi.ts";
import { send } from "./answer-stream.ts";
import { modelsCall, modelsIn } from "./dialects.ts";

/** The models that a provider names, asked through the gateway as any client asks. */
export function modelsQuery(provider: Provider) {
  return queryOptions({
    queryKey: ["models", provider.id, provider.base_url, provider.kind],
    queryFn: async ({ signal }): Promise<readonly string[]> => {
      const response = await send(provider, modelsCall(provider), { signal });
      if (!response.ok) throw new Error(`The list of models was answered with ${response.status}`);
      return modelsIn(provider.kind, await response.json()).toSorted();
    },
    enabled: provider.enabled,
    staleTime: 10 * 60_000,
    // Not every provider has such a list, and a name can always be typed.
    retry: false,
  });
}
