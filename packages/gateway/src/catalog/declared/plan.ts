import { isKeywheelError } from "@keywheel/pool";
import type { ConfigFile, DeclaredProvider } from "../../contract/config-file.ts";
import type { FieldFault } from "../../contract/field-faults.ts";
import type { ProviderPatch, ProviderRecord } from "../../store/store.ts";
import { sameOrigin } from "../base-url.ts";
import { isSameSecret } from "../same-secret.ts";
import { presetBySlug } from "../presets.ts";
import type { ProviderEntry } from "../provider-entry.ts";
import { recordOf } from "../provider-record.ts";
import { problemOfSlug } from "../slug.ts";
import { type DeclaredGround, type DeclaredPlan, literalWarning } from "./declared-plan.ts";
import type { Marks } from "./marks.ts";
import { planKeys } from "./plan-keys.ts";
import { planTokens } from "./plan-tokens.ts";

/**
 * What has to change so that everything is as a file says.
 *
 * The file owns what it names: providers, keys by their value or reference, tokens. What it named and names no more goes
 * away; what it never named is never touched. Nothing is changed by planning.
 */
export function planDeclared(ground: DeclaredGround, before: Marks, config: ConfigFile): DeclaredPlan {
  const plan = emptyPlan();
  const idOfSlug = new Map<string, string>();
  for (const [slug, declared] of Object.entries(config.providers)) {
    const id = planProvider(plan, { ground, before, slug, declared });
    if (id !== undefined) idOfSlug.set(slug, id);
  }
  planAbsent(plan, ground, before);
  planTokens(plan, {
    ground,
    before,
    tokens: config.tokens ?? {},
    idOfProvider: (slug) => idOfSlug.get(slug) ?? remaining(plan, ground.bySlug(slug))?.record.id,
    isDeclared: (slug) => Object.hasOwn(config.providers, slug),
  });
  return plan;
}

export function isNoChange({ change }: DeclaredPlan): boolean {
  return Object.values(change).every(({ length }) => length === 0);
}

function emptyPlan(): DeclaredPlan {
  return {
    change: {
      deletedProviders: [],
      insertedProviders: [],
      updatedProviders: [],
      deletedKeys: [],
      insertedKeys: [],
      updatedKeys: [],
      deletedTokens: [],
      insertedTokens: [],
      updatedTokens: [],
    },
    marks: {
      providers: new Set(),
      ownKeys: new Set(),
      keys: new Set(),
      tokens: new Set(),
      switches: new Set(),
    },
    problems: [],
    warnings: [],
  };
}

function remaining({ change }: DeclaredPlan, entry: ProviderEntry | undefined): ProviderEntry | undefined {
  return entry === undefined || change.deletedProviders.includes(entry.record.id) ? undefined : entry;
}

interface ProviderCall {
  readonly ground: DeclaredGround;
  readonly before: Marks;
  readonly slug: string;
  readonly declared: DeclaredProvider;
}

/** @returns its id; undefined if it is not right */
function planProvider(plan: DeclaredPlan, call: ProviderCall): string | undefined {
  const { ground, before, slug, declared } = call;
  const path = `providers.${slug}`;
  const entry = ground.bySlug(slug);
  const comes = recordFor(plan, call);
  const id = entry?.record.id ?? comes?.id;
  // Its keys are looked at all the same: all mistakes are told at once.
  const { foreign } = planKeys(plan, { ground, before, path, entry, providerId: id ?? "", keys: declared.keys ?? [] });
  if (comes === undefined || id === undefined) return undefined;

  plan.marks.providers.add(id);
  if (declared.api_key !== undefined) plan.marks.ownKeys.add(id);
  if (declared.enabled !== undefined) plan.marks.switches.add(id);
  if (comes.apiKey?.kind === "literal") plan.warnings.push(literalWarning(`${path}.api_key`));
  if (entry === undefined) {
    plan.change.insertedProviders.push(comes);
    return id;
  }
  const patch = patchOf(entry.record, comes, call);
  if (patch.baseUrl !== undefined) refuseHostChange(plan, { entry, baseUrl: patch.baseUrl, foreign, path, call });
  if (Object.keys(patch).length > 0) {
    plan.change.updatedProviders.push({ id, patch: { ...patch, updatedAt: ground.now() } });
  }
  return id;
}

function recordFor(plan: DeclaredPlan, { ground, slug, declared }: ProviderCall): ProviderRecord | undefined {
  const path = `providers.${slug}`;
  const problem = problemOfSlug(slug);
  if (problem !== undefined) {
    plan.problems.push({ path, code: problem.code, message: problem.message.replace("`slug`", "the name (the slug)") });
  }
  const { keys: _keys, ...body } = declared;
  const isPreset = body.preset === undefined && body.base_url === undefined && body.kind === undefined;
  const preset = isPreset ? presetBySlug(slug)?.slug : undefined;
  try {
    const whole = { ...body, ...(preset === undefined ? {} : { preset }), slug: problem === undefined ? slug : "x" };
    return recordOf({ ...ground, hasSlug: () => true }, whole, { slugIsTaken: true });
  } catch (error) {
    if (!isKeywheelError(error) || error.details.length === 0) throw error;
    // Every refusal of a provider has one of our faults; an error's type does not say so.
    const faults = error.details.map(({ path: field, message, code, params = {} }) => ({
      path: `${path}.${field}`,
      message: message.replaceAll("`settings.", `\`${path}.settings.`),
      code: (code ?? "refused") as FieldFault,
      params,
    }));
    plan.problems.push(...faults);
    return undefined;
  }
}

function patchOf(here: ProviderRecord, comes: ProviderRecord, { before, declared }: ProviderCall): ProviderPatch {
  const { name, kind, preset, baseUrl, settings } = comes;
  const wished: ProviderPatch = {
    ...(name === here.name ? {} : { name }),
    ...(kind === here.kind ? {} : { kind }),
    ...(preset === here.preset ? {} : { preset }),
    ...(baseUrl === here.baseUrl ? {} : { baseUrl }),
    ...(JSON.stringify(settings) === JSON.stringify(here.settings) ? {} : { settings }),
  };
  // A key that the file does not name, and never named, is not the file's to take away.
  const namesKey = declared.api_key !== undefined || before.ownKeys.has(here.id);
  const key = namesKey && !isSameSecret(here.apiKey, comes.apiKey) ? { apiKey: comes.apiKey } : {};
  const named = declared.enabled ?? (before.switches.has(here.id) ? true : here.enabled);
  return { ...wished, ...key, ...(named === here.enabled ? {} : { enabled: named }) };
}

/** Keys that the file does not name were given for the host that was. */
function refuseHostChange(
  plan: DeclaredPlan,
  {
    entry,
    baseUrl,
    foreign,
    path,
    call,
  }: {
    readonly entry: ProviderEntry;
    readonly baseUrl: string;
    readonly foreign: number;
    readonly path: string;
    readonly call: ProviderCall;
  },
): void {
  const { record } = entry;
  if (sameOrigin(record.baseUrl, baseUrl)) return;
  const ownIsForeign =
    record.apiKey !== null && call.declared.api_key === undefined && !call.before.ownKeys.has(record.id);
  if (foreign === 0 && !ownIsForeign) return;
  const message =
    `Keys of ${record.slug} that are not in the file would be sent to ${new URL(baseUrl).host} instead of ` +
    `${entry.baseUrl.host}: name them in the file, or delete them`;
  plan.problems.push({ path: `${path}.base_url`, message, code: "host_change" });
}

/** What the file named before and names no more. */
function planAbsent(plan: DeclaredPlan, ground: DeclaredGround, before: Marks): void {
  for (const id of before.providers) {
    if (plan.marks.providers.has(id)) continue;
    const entry = ground.byId(id);
    // With mistakes in the file its providers have no marks, and nothing of the plan is done.
    if (entry === undefined || plan.problems.length > 0) continue;
    const own = entry.cells().filter(({ record }) => before.keys.has(record.id));
    const hasForeign = own.length < entry.cells().length || (entry.record.apiKey !== null && !before.ownKeys.has(id));
    if (!hasForeign) {
      plan.change.deletedProviders.push(id);
      continue;
    }
    plan.change.deletedKeys.push(...own.map(({ record }) => record.id));
    const message = `The provider ${entry.record.slug} is in the file no more, and stays: it has keys that were never in it`;
    plan.warnings.push({ path: "providers", message });
  }
}
