import type { ProviderKind } from "./kinds.ts";

/**
 * Headers of answers that say whose key was used.
 *
 * @see https://platform.openai.com/docs/api-reference/debugging-requests, https://docs.anthropic.com/en/api/overview
 */
const headers: Readonly<Partial<Record<ProviderKind, string>>> = {
  openai: "openai-organization",
  "openai-compatible": "openai-organization",
  anthropic: "anthropic-organization-id",
};

const longest = 200;

/**
 * Whose key an answer was given to, where its provider says so: keys of one organization share its limits, as a rule.
 *
 * @param header a header's value by its lower-case name
 * @returns undefined if nothing usable is said
 * @see reference "Who owns a limit"
 */
export function organizationIn(kind: ProviderKind, header: (name: string) => string | undefined): string | undefined {
  const name = headers[kind];
  return name === undefined ? undefined : usable(header(name));
}

/**
 * The project of an organization whose key it was, where its provider says so: it may have limits of its own, below those of the
 * organization, which it shares with all others of it.
 *
 * @param header a header's value by its lower-case name
 * @returns undefined if nothing usable is said
 * @see reference "Who owns a limit"
 */
export function projectIn(kind: ProviderKind, header: (name: string) => string | undefined): string | undefined {
  return kind === "openai" || kind === "openai-compatible" ? usable(header("openai-project")) : undefined;
}

/** Where a resource of Azure has its address; what stands before an own domain is not known. */
const azureHost = /\.(?:openai\.azure|cognitiveservices\.azure|services\.ai\.azure)\.(?:com|us|cn)$/;

/**
 * Whose all keys at an address are, whatever they are: Azure limits the resource, and its address is that of one.
 *
 * @param host of the base URL, in lower case
 * @returns the host; undefined where it does not say
 * @see reference "Who owns a limit"
 */
export function ownerAt(kind: ProviderKind, host: string): string | undefined {
  return kind === "azure-openai" && azureHost.test(host) ? host : undefined;
}

function usable(value: string | undefined): string | undefined {
  const told = value?.trim();
  return told !== undefined && told.length <= longest && /^[\x21-\x7e]+$/.test(told) ? told : undefined;
}
