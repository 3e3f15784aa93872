import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";
import { call } from "../../api/client.ts";
import type { Provider, ProviderPatch } from "../../api/openapi.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { useNotify } from "../../parts/notify.ts";
import { useIsThere } from "../../parts/use-is-there.ts";

/** Changes a provider; its page follows where its path has changed, unless it was left meanwhile. */
export function useChangeProvider({ id, slug }: Provider, onError: (error: Error) => void) {
  const { t } = useTranslation();
  const notify = useNotify();
  const navigate = useNavigate();
  const client = useQueryClient();
  const isThere = useIsThere();
  return useMutation({
    mutationFn: (body: ProviderPatch) => call("PATCH /api/providers/{id}", { params: { id }, body }),
    onSuccess: async (provider: Provider) => {
      client.setQueryData(queryKeys.provider(provider.slug), provider);
      notify.done(t("provider.saved"));
      if (provider.slug !== slug && isThere()) {
        await navigate(`/settings/providers/${provider.slug}?part=settings`, { replace: true });
      }
      void client.invalidateQueries({ queryKey: queryKeys.providers, exact: true });
    },
    onError,
  });
}
