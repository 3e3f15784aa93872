import { wrongWords } from "../exit.ts";
import { nearest } from "../nearest.ts";
import { confirm } from "../prompt.ts";
import { formatTable } from "../table.ts";
import { type Context, enabledField, present, printJson, say, sayUndone, segment } from "./context.ts";
import { readKeyValue } from "./key-value.ts";
import { readSettingFlags } from "./setting-flags.ts";
import type { KeyOnTheWire, List, Preset, Provider, Status } from "./wire.ts";
import { counted, countsOf } from "./words.ts";

export interface ProviderFlags {
  readonly baseUrl?: string;
  readonly kind?: string;
  readonly preset?: string;
  readonly slug?: string;
  readonly name?: string;
  readonly apiKey?: string;
  readonly enabled?: boolean;
  readonly disabled?: boolean;
  readonly setting?: readonly string[];
  readonly confirmHostChange?: boolean;
}

export async function listPresets(context: Context): Promise<void> {
  const text = await context.client.text("GET", "/provider-presets");
  if (context.json) return printJson(context, text);
  const { data } = JSON.parse(text) as List<Preset>;
  const columns = [
    { heading: "Preset", value: (preset: Preset) => preset.slug },
    { heading: "Name", value: (preset: Preset) => preset.name },
    { heading: "Kind", value: (preset: Preset) => preset.kind },
    { heading: "Base URL", value: (preset: Preset) => preset.base_url },
  ];
  context.terminal.out(formatTable(columns, data, context.terminal.colors));
}

export async function addProvider(context: Context, name: string, flags: ProviderFlags): Promise<void> {
  const body = { ...(await identify(context, name, flags)), ...(await fieldsOf(context, flags)) };
  const text = await context.client.text("POST", "/providers", body);
  if (context.json) return printJson(context, text);
  const provider = JSON.parse(text) as Provider;
  say(context, `Added the provider ${provider.name} (${provider.base_url}).`);
  say(context, `Clients use ${context.client.url ?? "http://127.0.0.1:8787"}/${provider.slug} as their base URL.`);
  if (provider.api_key === null) say(context, `Next, give it keys: keywheel key add ${provider.slug}`);
}

/** A word that names a preset stands for it; any other is the name of a provider of one's own. */
async function identify(context: Context, name: string, flags: ProviderFlags): Promise<object> {
  const { data: presets } = await context.client.call<List<Preset>>("GET", "/provider-presets");
  const preset = presets.find(({ slug }) => slug === name.toLowerCase());
  if (preset !== undefined) return { preset: preset.slug };
  if (flags.baseUrl !== undefined || flags.kind !== undefined || flags.preset !== undefined) return { name };

  const near = nearest(
    name,
    presets.map(({ slug }) => slug),
  );
  const question = near === undefined ? "" : ` Did you mean ${near}?`;
  throw wrongWords(
    `There is no preset "${name}".${question} For a provider of your own, say where it is with --base-url; \`keywheel provider presets\` lists the others.`,
  );
}

async function fieldsOf({ terminal }: Context, flags: ProviderFlags): Promise<object> {
  const { baseUrl, kind, preset, slug, name, apiKey, setting } = flags;
  return present({
    base_url: baseUrl,
    kind,
    preset: preset === "none" ? null : preset,
    slug,
    name,
    api_key:
      apiKey === undefined || apiKey === "none"
        ? apiKey === "none"
          ? null
          : undefined
        : await readKeyValue(terminal, apiKey),
    settings: setting === undefined ? undefined : readSettingFlags(setting),
    confirm_host_change: flags.confirmHostChange,
    ...enabledField(flags),
  });
}

export async function listProviders(context: Context): Promise<void> {
  const text = await context.client.text("GET", "/providers");
  if (context.json) return printJson(context, text);
  const { data } = JSON.parse(text) as List<Provider>;
  if (data.length === 0) return say(context, "There is no provider yet. Add one: keywheel provider add openai");

  const status = await context.client.call<Status>("GET", "/status");
  const keysOf = new Map(status.providers.map(({ id, keys }) => [id, countsOf(keys)]));
  const { colors } = context.terminal;
  const columns = [
    { heading: "Provider", value: (provider: Provider) => provider.slug },
    { heading: "Name", value: (provider: Provider) => provider.name },
    { heading: "Kind", value: (provider: Provider) => provider.kind },
    { heading: "Base URL", value: (provider: Provider) => provider.base_url },
    {
      heading: "State",
      value: (provider: Provider) => (provider.enabled ? "enabled" : "disabled"),
      paint: (shown: string, provider: Provider) => (provider.enabled ? colors.green(shown) : colors.dim(shown)),
    },
    { heading: "Keys", value: (provider: Provider) => keysOf.get(provider.id) ?? "" },
  ];
  context.terminal.out(formatTable(columns, data, colors));
}

export async function setProvider(context: Context, slug: string, flags: ProviderFlags): Promise<void> {
  const body = await fieldsOf(context, flags);
  if (Object.keys(body).length === 0)
    throw wrongWords("Say what to set, such as --name or --base-url; --help lists all.");
  const text = await context.client.text("PATCH", `/providers/${segment(slug)}`, body);
  if (context.json) return printJson(context, text);
  const provider = JSON.parse(text) as Provider;
  say(context, `Saved the provider ${provider.name}.`);
}

export async function removeProvider(context: Context, slug: string, flags: { readonly yes?: boolean }): Promise<void> {
  const path = `/providers/${segment(slug)}`;
  const provider = await context.client.call<Provider>("GET", path);
  const { data: keys } = await context.client.call<List<KeyOnTheWire>>("GET", `${path}/keys`);
  const named = `the provider ${provider.name} with its ${counted(keys.length, "key")}`;
  if (!flags.yes && !(await confirm(context.terminal, `This removes ${named} and cannot be undone.`))) {
    return sayUndone(context);
  }
  await context.client.call("DELETE", path);
  if (context.json) printJson(context, JSON.stringify({ id: provider.id, slug: provider.slug, removed: true }));
  else say(context, `Removed ${named}.`);
}
