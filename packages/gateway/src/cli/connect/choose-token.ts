import type { List, NewToken, Token } from "../commands/wire.ts";
import type { ApiClient } from "../client/api-client.ts";
import { failed, wrongWords } from "../exit.ts";
import { readInput } from "../prompt.ts";
import type { Terminal } from "../terminal.ts";
import type { Targets } from "./client.ts";

/** Where the token of a client comes from. */
export type TokenChoice =
  | { readonly origin: "given" | "kept"; readonly token: string }
  /** It is made when everything else is known to work. */
  | { readonly origin: "new"; readonly name: string }
  /** The gateway asks for none. */
  | { readonly origin: "none" };

export interface TokenWishes {
  /** `-`: on the standard input. */
  readonly given: string | undefined;
  /** Its name; true for the client's. */
  readonly made: string | true | undefined;
  /** What stands where the client looks for its token. */
  readonly found: unknown;
  readonly clientId: string;
  readonly targets: Targets;
  readonly requiresToken: boolean;
}

/** @throws CommandError */
export async function chooseToken(api: ApiClient, terminal: Terminal, wishes: TokenWishes): Promise<TokenChoice> {
  const { given, made, found, clientId, targets, requiresToken } = wishes;
  if (given !== undefined && made !== undefined) throw wrongWords("--token and --new-token exclude each other.");
  if (made !== undefined) return { origin: "new", name: made === true ? clientId : made };
  if (given === undefined && !isToken(found) && !requiresToken) return { origin: "none" };

  // First: it may be made only now, by what is piped in here.
  const token = given === undefined ? undefined : await readGivenToken(terminal, given);
  const { data: known } = await api.call<List<Token>>("GET", "/tokens");
  if (token !== undefined) {
    const problem = problemWith(token, known, targets);
    if (problem !== undefined) throw failed(`${problem} \`keywheel token list\` shows them; --new-token makes one.`);
    return { origin: "given", token };
  }
  if (isToken(found) && problemWith(found, known, targets) === undefined) return { origin: "kept", token: found };
  if (!requiresToken) return { origin: "none" };
  throw wrongWords(
    "This gateway lets clients in only with a token. Give one with --token, or - for the standard input; one that was made before cannot be shown again, --new-token makes another.",
  );
}

/**
 * The token behind `--token`.
 *
 * @param given itself, or `-` for the standard input
 * @throws CommandError (2) for what is no gateway token
 */
export async function readGivenToken(terminal: Terminal, given: string): Promise<string> {
  if (given !== "-")
    terminal.err("Note: a token in a command stays in the history of the shell. Give - and pipe it to keep it out.\n");
  const token = (given === "-" ? await readInput(terminal) : given).trim();
  if (isToken(token)) return token;
  throw wrongWords(
    "Expected `--token` to be a token of this gateway, which begins with kw_ (not the key of a provider). --new-token makes one.",
  );
}

/** A token that is good for these providers and no others. @throws Refusal */
export function makeToken(api: ApiClient, name: string, targets: Targets): Promise<NewToken> {
  return api.call<NewToken>("POST", "/tokens", { name, providers: targets.map(({ provider }) => provider.id) });
}

export function isToken(value: unknown): value is string {
  return typeof value === "string" && /^kw_[\w-]{8,}$/.test(value);
}

/** Why a token would be refused, as far as its beginning tells which one it is. */
function problemWith(token: string, known: readonly Token[], targets: Targets): string | undefined {
  const found = known.find(({ prefix }) => token.startsWith(prefix));
  if (found === undefined) return "This gateway has no such token.";
  if (found.expires_at !== null && Date.parse(found.expires_at) <= Date.now())
    return `The token "${found.name}" has expired.`;
  const closed = targets.find(({ provider }) => found.providers !== null && !found.providers.includes(provider.id));
  return closed === undefined ? undefined : `The token "${found.name}" is not good for ${closed.provider.slug}.`;
}
