import type { Provider } from "../../api/openapi.ts";

/** What the gateway takes as the first segment of a path. @see contract: Provider `slug` */
export const slugPattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

export type ProviderKind = Provider["kind"];

export const kinds: readonly { readonly value: ProviderKind; readonly label: string }[] = [
  { value: "openai-compatible", label: "OpenAI-compatible" },
  { value: "openai", label: "OpenAI" },
  { value: "anthropic", label: "Anthropic" },
  { value: "gemini", label: "Google Gemini" },
  { value: "azure-openai", label: "Azure OpenAI" },
];

export function kindLabel(kind: ProviderKind): string {
  return kinds.find(({ value }) => value === kind)?.label ?? kind;
}

export type UrlFault = "invalid" | "placeholder";

/** Why a base URL cannot be taken, as far as a page can know; the gateway knows more. */
export function faultOfBaseUrl(text: string): UrlFault | undefined {
  if (/[{}]/.test(text)) return "placeholder";
  const url = URL.parse(text.trim());
  return url !== null && /^https?:$/.test(url.protocol) ? undefined : "invalid";
}

/** A path made of a name, that no other provider has. */
export function slugFor(name: string, taken: readonly string[]): string {
  const base =
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 50) || "provider";
  for (let number = 1; ; number++) {
    const slug = number === 1 ? base : `${base}-${number}`;
    if (!taken.includes(slug)) return slug;
  }
}
