import type { ProviderKind } from "../../store/store.ts";
import type { FoundPool } from "./foreign.ts";

export const notByKey = "it is not a matter of API keys that can be sent on";

/** As both versions read an address: with a slash at its end an address is complete; else the version is put behind it. */
export function addressOf(host: string, kind: ProviderKind | undefined): Pick<FoundPool, "baseUrl" | "behind"> {
  if (host.endsWith("/") || kind === "azure-openai") return { baseUrl: host };
  return { baseUrl: host, behind: kind === "gemini" ? "/v1beta" : "/v1" };
}
