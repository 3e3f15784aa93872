import type { DeclaredToken } from "../../contract/config-file.ts";
import type { TokenRecord, TokenTerms } from "../../store/store.ts";
import { parseKeyText } from "../key-text.ts";
import { tokenHash } from "../token-hash.ts";
import type { Marks } from "./marks.ts";
import type { DeclaredGround, DeclaredPlan } from "./declared-plan.ts";

interface TokensCall {
  readonly ground: DeclaredGround;
  readonly before: Marks;
  readonly tokens: Readonly<Record<string, DeclaredToken>>;
  readonly idOfProvider: (slug: string) => string | undefined;
  /** Whether the file has a provider of this slug, right or not. */
  readonly isDeclared: (slug: string) => boolean;
}

/** Tokens are kept as plain SHA-256, which only what nobody can guess withstands. */
const leastLength = 24;
const shownLength = 7;

export function planTokens(plan: DeclaredPlan, call: TokensCall): void {
  const seen = new Map<string, string>();
  for (const [name, declared] of Object.entries(call.tokens)) {
    const path = `tokens.${name}`;
    const providerIds = providerIdsOf(plan, { path, declared, call });
    const value = valueOf(plan, { path, name, declared, call });
    if (value === undefined) continue;
    const twin = seen.get(value.hash);
    if (twin !== undefined) {
      plan.problems.push({ path, message: `The token ${twin} is the same one`, code: "repeated" });
      continue;
    }
    seen.set(value.hash, name);
    planToken(plan, { call, value, terms: termsOf(name, declared, providerIds) });
  }
  const gone = [...call.before.tokens].filter((id) => !plan.marks.tokens.has(id));
  plan.change.deletedTokens.push(...gone);
}

interface TokenValue {
  readonly hash: string;
  readonly prefix: string;
}

function planToken(
  plan: DeclaredPlan,
  { call, value, terms }: { readonly call: TokensCall; readonly value: TokenValue; readonly terms: TokenTerms },
): void {
  const { ground } = call;
  const here = ground.tokens().find(({ hash }) => hash === value.hash);
  if (here !== undefined) {
    plan.marks.tokens.add(here.id);
    if (!hasTerms(here, terms)) plan.change.updatedTokens.push({ id: here.id, terms });
    return;
  }
  const id = ground.newId("tok");
  plan.marks.tokens.add(id);
  plan.change.insertedTokens.push({ id, ...value, ...terms, createdAt: ground.now(), lastUsedAt: null });
}

/** @returns undefined if there is none to be had */
function valueOf(
  plan: DeclaredPlan,
  call: { readonly path: string; readonly name: string; readonly declared: DeclaredToken; readonly call: TokensCall },
): TokenValue | undefined {
  const { path, name, declared } = call;
  const { sha256, token } = declared;
  if ((sha256 === undefined) === (token === undefined)) {
    const message = `Expected \`${path}\` to have either \`sha256\` or \`token\``;
    plan.problems.push({ path, message, code: sha256 === undefined ? "missing" : "refused" });
    return undefined;
  }
  if (sha256 !== undefined) {
    const hash = sha256.toLowerCase();
    return { hash, prefix: `#${hash.slice(0, shownLength - 1)}` };
  }
  const parsed = parseKeyText(token ?? "");
  if (!parsed.ok || parsed.secret.kind !== "reference") {
    const message = `Expected \`${path}.token\` to be \`$NAME\` or \`file:/path\`: the token itself is not kept in a file`;
    plan.problems.push({ path: `${path}.token`, message, code: "refused" });
    return undefined;
  }
  const resolution = call.call.ground.resolve(parsed.secret.name);
  const text = resolution.kind === "resolved" ? resolution.value.reveal() : undefined;
  if (text !== undefined && text.length >= leastLength) {
    return { hash: tokenHash(text), prefix: text.slice(0, shownLength) };
  }
  const why =
    resolution.kind === "resolved"
      ? `It is shorter than ${leastLength} characters, and could be guessed`
      : resolution.message;
  plan.warnings.push({ path: `${path}.token`, message: `The token ${name} is not there yet. ${why}` });
  keep(plan, call.call, name);
  return undefined;
}

/** What the file made of it before goes on: a secret that is away for a moment must not lock its clients out. */
function keep({ marks }: DeclaredPlan, { ground, before }: TokensCall, name: string): void {
  const here = ground.tokens().find((token) => token.name === name && before.tokens.has(token.id));
  if (here !== undefined) marks.tokens.add(here.id);
}

function providerIdsOf(
  plan: DeclaredPlan,
  { path, declared, call }: { readonly path: string; readonly declared: DeclaredToken; readonly call: TokensCall },
): readonly string[] | null {
  const { providers = null } = declared;
  if (providers === null) return null;
  const ids = providers.flatMap((slug, index) => {
    const id = call.idOfProvider(slug);
    if (id !== undefined) return [id];
    const field = `${path}.providers.${index}`;
    // Of one that is in the file and not right, that is told already.
    if (!call.isDeclared(slug)) {
      plan.problems.push({
        path: field,
        message: `There is no provider with the slug ${slug}`,
        code: "no_such_provider",
      });
    }
    return [];
  });
  return [...new Set(ids)];
}

function termsOf(name: string, declared: DeclaredToken, providerIds: readonly string[] | null): TokenTerms {
  const { expires_at: expires, max_requests_per_minute: perMinute, max_concurrent: concurrent } = declared;
  return {
    name,
    providerIds,
    expiresAt: expires === undefined || expires === null ? null : Date.parse(expires),
    maxRequestsPerMinute: perMinute ?? null,
    maxConcurrent: concurrent ?? null,
  };
}

function hasTerms(token: TokenRecord, terms: TokenTerms): boolean {
  const { name, providerIds, expiresAt, maxRequestsPerMinute, maxConcurrent } = token;
  return (
    JSON.stringify(terms) === JSON.stringify({ name, providerIds, expiresAt, maxRequestsPerMinute, maxConcurrent })
  );
}
