import type { ParseKeys, TFunction } from "i18next";
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

/** Those that a page finds out by itself. */
const urlFaults = {
  placeholder: "providers.baseUrlPlaceholderLeft",
  scheme: "providers.baseUrlInvalid",
  credentials: "providers.baseUrlCredentials",
  query: "providers.baseUrlQuery",
  fragment: "providers.baseUrlFragment",
} as const satisfies Readonly<Record<string, ParseKeys>>;

/** Why a base URL cannot be taken, as far as a page can know; the gateway knows more. */
export function faultOfBaseUrl(text: string): keyof typeof urlFaults | undefined {
  if (/[{}]/.test(text)) return "placeholder";
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) return "scheme";
  // Said before anyone is asked whether keys may go there.
  if (url.username !== "" || url.password !== "") return "credentials";
  if (url.href.includes("?")) return "query";
  return url.href.includes("#") ? "fragment" : undefined;
}

/** What a form says of it before the gateway is asked; null where nothing is wrong. */
export function checkProvider(t: TFunction) {
  return {
    name: (value: string): string | null => {
      if (value.trim() === "") return t("providers.nameMissing");
      return value.trim().length > 200 ? t("providers.nameTooLong") : null;
    },
    slug: (value: string): string | null => (slugPattern.test(value) ? null : t("providers.slugInvalid")),
    base_url: (value: string): string | null => {
      const fault = faultOfBaseUrl(value);
      return fault === undefined ? null : t(urlFaults[fault]);
    },
  };
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
