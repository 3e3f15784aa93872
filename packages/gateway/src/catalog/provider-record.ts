import type { FieldRefusal } from "../contract/field-faults.ts";
import type { ProviderCreate } from "../contract/provider.ts";
import type { KeySecret, ProviderRecord } from "../store/store.ts";
import { parseBaseUrl } from "./base-url.ts";
import { conflict, refuseIfAny } from "./core.ts";
import type { IdPrefix } from "./ids.ts";
import { parseKeyText } from "./key-text.ts";
import { kindOfUrl, presetBySlug, presetOfKind, presetOfUrl } from "./presets.ts";
import { effectiveSettings, mergeSettings, problemsOfSettings } from "./settings.ts";
import { problemOfSlug, slugFrom } from "./slug.ts";

/** What has to be known to make a provider's record. */
export interface RecordGround {
  readonly allowPrivateMetadata: boolean;
  readonly newId: (prefix: IdPrefix) => string;
  readonly now: () => number;
  /** Whether a provider has it already. */
  readonly hasSlug: (slug: string) => boolean;
}

/**
 * The record that a body makes.
 *
 * @param slugIsTaken whether it is only to be compared with the provider of that slug
 * @throws KeywheelError validation_failed, conflict
 */
export function recordOf(
  ground: RecordGround,
  body: ProviderCreate,
  { slugIsTaken = false }: { readonly slugIsTaken?: boolean } = {},
): ProviderRecord {
  const problems: FieldRefusal[] = [];
  const named = body.preset ? presetBySlug(body.preset) : undefined;
  const assumed = named ?? (body.kind ? presetOfKind(body.kind) : undefined);
  const baseUrl = baseUrlOf(ground, body.base_url ?? assumed?.baseUrl, problems);
  const apiKey = apiKeyOf(body.api_key, problems) ?? null;
  const settings = settingsOf({}, body.settings, problems);
  refuseIfAny(problems);

  const found = presetOfUrl(baseUrl);
  const preset = body.preset === undefined ? found : named;
  const kind = body.kind ?? kindOfUrl(baseUrl, named ?? found);
  const name = body.name ?? named?.name ?? (body.slug === undefined ? found?.name : body.slug) ?? hostOf(baseUrl);
  const slug =
    body.slug === undefined ? freeSlug(ground, [body.name ?? "", preset?.slug ?? "", hostOf(baseUrl)]) : body.slug;
  checkSlug(ground, slug, slugIsTaken ? slug : undefined);
  const at = ground.now();
  return {
    id: ground.newId("prv"),
    slug,
    name,
    kind,
    preset: preset?.slug ?? null,
    baseUrl,
    apiKey,
    enabled: body.enabled ?? true,
    settings,
    createdAt: at,
    updatedAt: at,
  };
}

/** @returns an empty text if there is a problem */
export function baseUrlOf(
  { allowPrivateMetadata }: Pick<RecordGround, "allowPrivateMetadata">,
  text: string | undefined,
  problems: FieldRefusal[],
): string {
  const path = "base_url";
  if (text === undefined) {
    const message = "`base_url` is missing: expected an http or https URL, or a `preset` that stands for one";
    problems.push({ path, message, code: "missing" });
    return "";
  }
  const parsed = parseBaseUrl(text, { allowPrivateMetadata });
  if (parsed.ok) return parsed.url;
  problems.push({ path, message: parsed.problem, code: parsed.code });
  return "";
}

/** @param own a slug that it may have, because it has it */
export function checkSlug({ hasSlug }: Pick<RecordGround, "hasSlug">, slug: string, own: string | undefined): void {
  const problem = problemOfSlug(slug);
  refuseIfAny(problem === undefined ? [] : [{ path: "slug", ...problem }]);
  if (slug !== own && hasSlug(slug))
    throw conflict("slug", "slug_taken", `There is a provider with the slug ${slug} already`);
}

function freeSlug({ hasSlug }: RecordGround, names: readonly string[]): string {
  for (const name of names) {
    const slug = slugFrom(name, hasSlug);
    if (slug !== undefined) return slug;
  }
  return "provider";
}

/** @returns undefined if it was not sent */
export function apiKeyOf(text: string | null | undefined, problems: FieldRefusal[]): KeySecret | null | undefined {
  if (text === undefined || text === null) return text;
  const parsed = parseKeyText(text);
  if (parsed.ok) return parsed.secret;
  problems.push({ path: "api_key", ...parsed.fault });
  return undefined;
}

export function settingsOf(
  stored: ProviderRecord["settings"],
  patch: ProviderCreate["settings"],
  problems: FieldRefusal[],
): ProviderRecord["settings"] {
  if (patch === undefined) return stored;
  const merged = mergeSettings(stored, patch);
  problems.push(...problemsOfSettings(effectiveSettings(merged)));
  return merged;
}

function hostOf(baseUrl: string): string {
  return new URL(baseUrl).hostname;
}
