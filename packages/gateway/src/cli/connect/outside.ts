import { presetBySlug } from "../../catalog/presets.ts";
import { createHttpTransport } from "../client/http-transport.ts";
import type { Provider } from "../commands/wire.ts";
import { failed, wrongWords } from "../exit.ts";
import { kindsFor, targetOf } from "./choose-targets.ts";
import type { Client, Speech, Target, Targets } from "./client.ts";

/** Those that any client speaks to. */
const kinds = Object.values(kindsFor).flat();

export interface OutsideChoice {
  readonly client: Client;
  /** The slugs that were named; none: the usual one for what the client speaks. */
  readonly wanted: readonly string[];
  /** What kind they are; undefined where their slugs tell. */
  readonly kind: string | undefined;
  readonly gatewayUrl: string;
}

/**
 * Providers at a gateway that cannot be asked for what it has: as they are named, of the kind that is named, or that their slug
 * stands for.
 *
 * @throws CommandError (2)
 */
export function outsideTargets({ client, wanted, kind, gatewayUrl }: OutsideChoice): Targets {
  const slugs = wanted.length > 0 ? wanted : usualSlugs(client);
  const [first, ...others] = slugs.map((slug) => {
    const provider = providerOf(slug, kindOf(client, slug, kind));
    const speech = speechOf(client, provider.kind);
    if (speech === undefined)
      throw wrongWords(`${client.name} cannot speak to a provider of the kind ${provider.kind}.`);
    return targetOf(speech, provider, gatewayUrl);
  });
  if (first === undefined) throw new Error("no provider was named, and none is usual");
  return [first, ...others];
}

function usualSlugs({ speaks, name }: Client): readonly Speech[] {
  if (speaks.length === 1) return speaks;
  throw wrongWords(
    `${name} speaks to several kinds of provider. Say which the gateway has, by the slugs that it has them under: --provider ${speaks[0]}`,
  );
}

function kindOf({ speaks, name }: Client, slug: string, given: string | undefined): Provider["kind"] {
  const named = kinds.find((kind) => kind === given);
  if (given !== undefined && named === undefined)
    throw wrongWords(`There is no kind "${given}". There is ${kinds.join(", ")}.`);
  const [only, ...others] = speaks;
  const known = named ?? presetBySlug(slug)?.kind ?? (others.length === 0 ? kindsFor[only][0] : undefined);
  if (known !== undefined) return known;
  throw wrongWords(`What kind of provider is "${slug}"? Say it for ${name}: --kind ${kindsFor[only][0]}`);
}

function speechOf({ speaks }: Client, kind: Provider["kind"]): Speech | undefined {
  return speaks.find((speech) => kindsFor[speech].some((one) => one === kind));
}

/** As much of a provider as a set-up needs. */
function providerOf(slug: string, kind: Provider["kind"]): Provider {
  const preset = presetBySlug(slug);
  const usual = presetBySlug(kind);
  const known = preset?.kind === kind ? preset : usual;
  return {
    id: slug,
    slug,
    name: preset?.name ?? slug,
    kind,
    preset: preset?.slug ?? null,
    // Only its version counts, and where that is not known the gateway takes paths without one.
    base_url: known?.baseUrl ?? "https://provider.invalid",
    api_key: null,
    enabled: true,
    settings: {} as Provider["settings"],
    managed_by: null,
    created_at: "",
    updated_at: "",
  };
}

/**
 * Tries whether a gateway answers there, has the provider and takes the token, with a request that it refuses before it asks
 * anybody: a path that leads out of the provider's.
 *
 * @throws CommandError (1) that says what is wrong
 */
export async function tryTarget({ url, provider }: Target, token: string | undefined): Promise<void> {
  const { origin, pathname } = new URL(url);
  const { status, ownError } = await createHttpTransport({ url: origin, token: token ?? "" }).send(
    "GET",
    `${pathname}/%2e%2e/`,
    undefined,
  );
  if (ownError === "invalid_request") return;
  if (ownError === undefined) throw failed(`What answers at ${origin} is no Keywheel gateway: it said ${status}.`);
  if (ownError === "unauthorized") {
    throw failed(
      token === undefined
        ? `The gateway at ${origin} lets clients in only with a token. Ask its operator for one, and give it with --token.`
        : `The gateway at ${origin} refuses this token for ${provider.slug}: ask its operator for another.`,
    );
  }
  if (ownError !== "unknown_provider") throw failed(`The gateway at ${origin} refuses this machine: ${ownError}.`);
  throw failed(`There is no provider "${provider.slug}" at ${origin}. Name the one that is there with --provider.`);
}

/** The models that a provider names to clients. */
export async function outsideModels({ versionedUrl }: Target, token: string | undefined): Promise<readonly string[]> {
  const { origin, pathname } = new URL(versionedUrl);
  const { body } = await createHttpTransport({ url: origin, token: token ?? "" }).send(
    "GET",
    `${pathname}/models`,
    undefined,
  );
  const { data } = JSON.parse(body) as { readonly data: readonly { readonly id: string }[] };
  return data.map(({ id }) => id);
}
