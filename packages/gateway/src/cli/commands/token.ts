import { failed } from "../exit.ts";
import { confirm } from "../prompt.ts";
import { formatTable } from "../table.ts";
import { type Context, printJson, say, segment } from "./context.ts";
import type { List, NewToken, Provider, Token } from "./wire.ts";
import { ago, dateTime } from "./words.ts";

export async function createToken(
  context: Context,
  name: string,
  flags: { readonly provider?: readonly string[] },
): Promise<void> {
  const body = { name, ...(flags.provider === undefined ? {} : { providers: flags.provider }) };
  const text = await context.client.text("POST", "/tokens", body);
  if (context.json) return printJson(context, text);
  const { token } = JSON.parse(text) as NewToken;
  // The token alone on the standard output, so that it can be piped on; the words beside it.
  context.terminal.err("This is shown once. Clients send it as their API key.\n");
  say(context, token);
}

export async function listTokens(context: Context): Promise<void> {
  const text = await context.client.text("GET", "/tokens");
  if (context.json) return printJson(context, text);
  const { data } = JSON.parse(text) as List<Token>;
  if (data.length === 0) return say(context, "There is no gateway token yet. Make one: keywheel token create laptop");

  const { data: providers } = await context.client.call<List<Provider>>("GET", "/providers");
  const slugs = new Map(providers.map(({ id, slug }) => [id, slug]));
  const now = Date.now();
  const columns = [
    { heading: "Name", value: ({ name }: Token) => name },
    { heading: "Id", value: ({ id }: Token) => id },
    { heading: "Begins", value: ({ prefix }: Token) => `${prefix}…` },
    {
      heading: "Providers",
      value: ({ providers: ids }: Token) => ids?.map((id) => slugs.get(id) ?? id).join(", ") ?? "all",
    },
    { heading: "Created", value: ({ created_at: at }: Token) => dateTime(at) },
    { heading: "Last used", value: ({ last_used_at: at }: Token) => ago(at, now) },
  ];
  context.terminal.out(formatTable(columns, data, context.terminal.colors));
}

export async function revokeToken(context: Context, name: string, flags: { readonly yes?: boolean }): Promise<void> {
  const { data } = await context.client.call<List<Token>>("GET", "/tokens");
  const [found, ...others] = data.filter((token) => token.id === name || token.name === name);
  if (found === undefined)
    throw failed(`No token has the id or the name "${name}". \`keywheel token list\` shows them.`);
  if (others.length > 0) {
    const ids = [found, ...others].map(({ id }) => id).join(", ");
    throw failed(`Several tokens have the name "${name}". Say which by its id: ${ids}.`);
  }
  const sentence = `Clients that send the token "${found.name}" are refused from then on.`;
  if (!flags.yes && !(await confirm(context.terminal, sentence))) return say(context, "Nothing was done.");
  await context.client.call("DELETE", `/tokens/${segment(found.id)}`);
  say(context, `Revoked the token "${found.name}".`);
}
