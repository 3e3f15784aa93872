import type { Provider } from "../../api/openapi.ts";

/** A call that every provider of the kind knows, as a client puts it behind the gateway's address. */
const callOfKind: Readonly<Record<Provider["kind"], string>> = {
  openai: "/v1/chat/completions",
  "openai-compatible": "/v1/chat/completions",
  anthropic: "/v1/messages",
  gemini: "/v1beta/models/…",
  "azure-openai": "/openai/deployments/…",
};

export interface EffectiveUrl {
  /** Below the provider's address at the gateway. */
  readonly call: string;
  readonly sentTo: string;
}

/** Where a usual call goes with this base URL: a version that both name is not doubled. @see contract §2 */
export function effectiveUrl(kind: Provider["kind"], baseUrl: string): EffectiveUrl {
  const usual = callOfKind[kind];
  const base = baseUrl.trim().replace(/\/+$/, "");
  const [, first = ""] = usual.split("/");
  const last = base.slice(base.lastIndexOf("/") + 1);
  const rest = usual.slice(first.length + 1);
  // A base URL that names another version, as `/v4`, is called without ours.
  const isVersioned = /^v\d+[a-z0-9]*$/.test(last);
  const path = last === first ? rest : usual;
  return isVersioned && last !== first ? { call: rest, sentTo: base + rest } : { call: usual, sentTo: base + path };
}
