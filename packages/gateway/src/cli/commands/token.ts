import { failed, wrongWords } from "../exit.ts";
import { confirm } from "../prompt.ts";
import { formatTable } from "../table.ts";
import { type Context, numberOf, present, printJson, say, sayUndone, segment } from "./context.ts";
import { readExpiry } from "./expiry.ts";
import type { List, NewToken, Provider, Token } from "./wire.ts";
import { ago, dateTime } from "./words.ts";

/** What a token is good for, in the words of the command line. */
export interface TokenFlags {
  readonly provider?: readonly string[];
  readonly expires?: string;
  readonly maxRequestsPerMinute?: string;
  readonly maxConcurrent?: string;
}

export async function createToken(context: Context, name: string, flags: TokenFlags): Promise<void> {
  const body = { name, ...termsOf(flags) };
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
    { heading: "Limits", value: limitsOf },
    { heading: "Expires", value: (token: Token) => expiryOf(token, now) },
    { heading: "Created", value: ({ created_at: at }: Token) => dateTime(at) },
    { heading: "Last used", value: ({ last_used_at: at }: Token) => ago(at, now) },
  ];
  context.terminal.out(formatTable(columns, data, context.terminal.colors));
}

export async function setToken(
  context: Context,
  name: string,
  { name: newName, ...flags }: TokenFlags & { readonly name?: string },
): Promise<void> {
  const body = { ...present({ name: newName }), ...termsOf(flags) };
  if (Object.keys(body).length === 0)
    throw wrongWords("Say what to set, such as --expires or --max-requests-per-minute; --help lists all.");
  const { id } = await findToken(context, name);
  const text = await context.client.text("PATCH", `/tokens/${segment(id)}`, body);
  if (context.json) return printJson(context, text);
  const token = JSON.parse(text) as Token;
  const limits = limitsOf(token);
  const rest = [limits === "" ? "no limits" : limits, `expires ${expiryOf(token, Date.now())}`].join(", ");
  say(context, `Changed the token "${token.name}": ${rest}.`);
}

/** Makes the admin token anew; the former one, and every browser that is signed in, is refused from then on. */
export async function rotateAdminToken(context: Context, flags: { readonly yes?: boolean }): Promise<void> {
  const sentence = "The present admin token is refused from then on, and every browser is signed out.";
  if (!flags.yes && !(await confirm(context.terminal, sentence))) return sayUndone(context);
  const text = await context.client.text("POST", "/admin-token/rotate");
  if (context.json) return printJson(context, text);
  context.terminal.err("This is the new admin token. It is shown once; every browser was signed out.\n");
  say(context, (JSON.parse(text) as { token: string }).token);
}

export async function revokeToken(context: Context, name: string, flags: { readonly yes?: boolean }): Promise<void> {
  const found = await findToken(context, name);
  const sentence = `Clients that send the token "${found.name}" are refused from then on.`;
  if (!flags.yes && !(await confirm(context.terminal, sentence))) return sayUndone(context);
  await context.client.call("DELETE", `/tokens/${segment(found.id)}`);
  if (context.json) printJson(context, JSON.stringify({ id: found.id, name: found.name, revoked: true }));
  else say(context, `Revoked the token "${found.name}".`);
}

/** @throws CommandError (1) if there is none, or more than one */
async function findToken(context: Context, name: string): Promise<Token> {
  const { data } = await context.client.call<List<Token>>("GET", "/tokens");
  const [found, ...others] = data.filter((token) => token.id === name || token.name === name);
  if (found === undefined)
    throw failed(`No token has the id or the name "${name}". \`keywheel token list\` shows them.`);
  if (others.length > 0) {
    const ids = [found, ...others].map(({ id }) => id).join(", ");
    throw failed(`Several tokens have the name "${name}". Say which by its id: ${ids}.`);
  }
  return found;
}

function termsOf({ provider, expires, maxRequestsPerMinute, maxConcurrent }: TokenFlags): object {
  const isForAll = provider?.length === 1 && provider[0] === "all";
  return present({
    providers: isForAll ? null : provider,
    expires_at: expires === undefined ? undefined : readExpiry(expires, Date.now()),
    max_requests_per_minute: limitOf(maxRequestsPerMinute),
    max_concurrent: limitOf(maxConcurrent),
  });
}

function limitOf(text: string | undefined): number | string | null | undefined {
  return text?.trim().toLowerCase() === "none" ? null : numberOf(text);
}

function limitsOf({ max_requests_per_minute: perMinute, max_concurrent: concurrent }: Token): string {
  const limits = [
    perMinute === null ? "" : `${perMinute} a minute`,
    concurrent === null ? "" : `${concurrent} at a time`,
  ];
  return limits.filter((limit) => limit !== "").join(", ");
}

function expiryOf({ expires_at: at }: Token, now: number): string {
  if (at === null) return "never";
  return Date.parse(at) <= now ? `expired ${dateTime(at)}` : dateTime(at);
}
