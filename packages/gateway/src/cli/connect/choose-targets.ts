import { failed, wrongWords } from "../exit.ts";
import type { Provider } from "../commands/wire.ts";
import { nearest } from "../nearest.ts";
import type { Client, Speech, Target, Targets } from "./client.ts";

/** Which kinds of provider answer a kind of client; the first that there is one of is taken. */
export const kindsFor = {
  openai: ["openai", "openai-compatible"],
  anthropic: ["anthropic"],
  gemini: ["gemini"],
} as const satisfies Record<Speech, readonly Provider["kind"][]>;

export interface Choice {
  readonly client: Client;
  /** All that the gateway has. */
  readonly providers: readonly Provider[];
  /** The slugs that were asked for. */
  readonly wanted: readonly string[];
  /** The address of the gateway, without a slash at the end. */
  readonly gatewayUrl: string;
}

/**
 * The providers that a client is connected to: those that are named, else the only one of each kind that it speaks to.
 *
 * @throws CommandError
 */
export function chooseTargets(choice: Choice): Targets {
  const { client, wanted, gatewayUrl } = choice;
  const named = wanted.map((slug) => byName(choice, slug));
  for (const provider of named) {
    if (speechOf(client, provider) === undefined) {
      throw wrongWords(
        `${client.name} cannot speak to ${provider.slug}, which is of the kind ${provider.kind}. It takes ${kindsOf(client)}.`,
      );
    }
  }
  const targets = client.speaks.flatMap((speech) => {
    const provider = pick(choice, speech, named);
    return provider === undefined ? [] : [targetOf(speech, provider, gatewayUrl)];
  });
  const [first, ...others] = targets;
  if (first === undefined) throw nothingFits(choice);
  return [first, ...others];
}

/** @throws CommandError (2) if it is not there */
function byName({ providers }: Choice, name: string): Provider {
  const found = providers.find(({ slug, id }) => slug === name || id === name);
  if (found !== undefined) return found;
  const near = nearest(
    name,
    providers.map(({ slug }) => slug),
  );
  throw wrongWords(
    `There is no provider "${name}".${near === undefined ? "" : ` Did you mean ${near}?`} \`keywheel provider list\` shows them.`,
  );
}

function pick({ client, providers }: Choice, speech: Speech, named: readonly Provider[]): Provider | undefined {
  if (named.length > 0) {
    const [first, second] = named.filter((provider) => speechOf(client, provider) === speech);
    if (first !== undefined && second !== undefined && first.id !== second.id)
      throw wrongWords(`${first.slug} and ${second.slug} exclude each other: name one of them.`);
    return first;
  }
  const fitting = kindsFor[speech]
    .map((kind) => providers.filter((provider) => provider.enabled && provider.kind === kind))
    .find((group) => group.length > 0);
  const [only, ...others] = fitting ?? [];
  if (only === undefined || others.length === 0) return only;
  const slugs = [only, ...others].map(({ slug }) => slug);
  // What is named is all that is taken.
  const more = client.speaks.length > 1 ? " (and --provider again for those of other kinds)" : "";
  throw wrongWords(`Several providers fit: ${slugs.join(", ")}. Say which: --provider ${only.slug}${more}`);
}

function speechOf({ speaks }: Client, { kind }: Provider): Speech | undefined {
  return speaks.find((speech) => kindsFor[speech].some((one) => one === kind));
}

function kindsOf({ speaks }: Client): string {
  return speaks.flatMap((speech) => kindsFor[speech]).join(", ");
}

function nothingFits({ client, providers }: Choice): Error {
  const off = providers.find((provider) => !provider.enabled && speechOf(client, provider) !== undefined);
  if (off !== undefined) {
    return failed(
      `The provider ${off.slug}, which ${client.name} could use, is disabled. Enable it: keywheel provider set ${off.slug} --enabled`,
    );
  }
  const [speech] = client.speaks;
  return failed(
    `There is no provider for ${client.name} yet. Add one, and a key: keywheel provider add ${speech} && keywheel key add ${speech}`,
  );
}

/** A provider as a client reaches it. */
export function targetOf(speech: Speech, provider: Provider, gatewayUrl: string): Target {
  const url = `${gatewayUrl}/${provider.slug}`;
  const last = new URL(provider.base_url).pathname.replace(/\/+$/, "").split("/").at(-1) ?? "";
  // As the provider itself is addressed: what its clients add to its base URL they add to this one.
  return { speech, provider, url, versionedUrl: /^v\d+[a-z0-9]*$/.test(last) ? `${url}/${last}` : url, models: [] };
}
