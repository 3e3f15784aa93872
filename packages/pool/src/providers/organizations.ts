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
  const told = name === undefined ? undefined : header(name)?.trim();
  return told !== undefined && told.length <= longest && /^[\x21-\x7e]+$/.test(told) ? told : undefined;
}
