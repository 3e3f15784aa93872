import { failed } from "../exit.ts";
import { type Context, segment } from "./context.ts";
import type { KeyOnTheWire, List, Provider } from "./wire.ts";

/** Keys with the provider that they belong to. */
export interface Found {
  readonly key: KeyOnTheWire;
  readonly provider: Provider;
}

/** Every key, or those of one provider, in the order of the wheel. */
export async function readKeys({ client }: Context, provider: string | undefined): Promise<readonly Found[]> {
  const { data: all } = await client.call<List<Provider>>("GET", "/providers");
  const providers = provider === undefined ? all : all.filter(({ id, slug }) => id === provider || slug === provider);
  if (provider !== undefined && providers.length === 0) {
    throw failed(`There is no provider "${provider}". \`keywheel provider list\` shows them.`);
  }
  const lists = await Promise.all(
    providers.map(async (one) => {
      const { data } = await client.call<List<KeyOnTheWire>>("GET", `/providers/${segment(one.id)}/keys`);
      return data.map((key) => ({ key, provider: one }));
    }),
  );
  return lists.flat();
}

/**
 * The keys that are meant by ids or labels.
 *
 * @throws CommandError (1) for a name that no key has, or several have
 */
export async function findKeys(
  context: Context,
  names: readonly string[],
  provider: string | undefined,
): Promise<readonly Found[]> {
  const keys = await readKeys(context, provider);
  return names.map((name) => findOne(keys, name, provider));
}

function findOne(keys: readonly Found[], name: string, provider: string | undefined): Found {
  const byId = keys.find(({ key }) => key.id === name);
  if (byId !== undefined) return byId;
  const [found, ...others] = keys.filter(({ key }) => key.label !== "" && key.label === name);
  const place = provider === undefined ? "" : ` of the provider ${provider}`;
  if (found === undefined)
    throw failed(`No key${place} has the id or the label "${name}". \`keywheel key list\` shows them.`);
  if (others.length === 0) return found;
  const ids = [found, ...others].map(({ key, provider: owner }) => `${key.id} (${owner.slug})`).join(", ");
  throw failed(`Several keys${place} have the label "${name}". Say which by its id: ${ids}.`);
}

/** How a key is called in sentences. */
export function nameOf({ key, provider }: Found): string {
  return `${key.label === "" ? key.api_key : `"${key.label}" (${key.api_key})`} of ${provider.name}`;
}
