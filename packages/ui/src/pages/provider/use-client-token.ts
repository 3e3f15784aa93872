import { useQuery } from "@tanstack/react-query";
import { statusQuery } from "../../api/queries.ts";

/** What a client shows where it wants a key, and whether the gateway looks at it. */
export function useClientToken(): { readonly token: string; readonly isRequired: boolean } {
  const { data } = useQuery(statusQuery);
  const isRequired = data?.require_token ?? false;
  return { token: isRequired ? "kw_YOUR_TOKEN" : "any-text", isRequired };
}
