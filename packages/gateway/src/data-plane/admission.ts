import type { IncomingMessage, ServerResponse } from "node:http";
import { type AttemptRecord, clientCredentials, type OwnError, type Standing } from "@keywheel/pool";
import type { CatalogView, ProviderRuntime, TokenRecord } from "../catalog/catalog.ts";
import type { Presence } from "./client.ts";
import type { RequestTie } from "./request-record.ts";
import { parseTarget, type Target, upstreamPath } from "./target.ts";
import type { UpgradeClient } from "./upgrade-client.ts";

/** What becomes known of a request on its way, for its record. */
export interface Ledger {
  tokenId?: string;
  model?: string;
  sessionId?: string;
  tie?: RequestTie;
  requestBytes: number;
  /** How long the client's body was waited for, ms; undefined if that was below 1 ms. */
  bodyMs?: number;
  /** How the pool stood when no key was left. */
  standing?: Standing;
  readonly attempts: AttemptRecord[];
}

/** One request of a client on its way through. */
export interface Passage {
  readonly requestId: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly presence: Presence;
  /** The client's connection, if it asks to go on in another protocol. */
  readonly upgrade: UpgradeClient | undefined;
  readonly target: Target;
  /** The provider that the path names, if it exists; a disabled one serves nobody, but its clients read its errors. */
  readonly runtime: ProviderRuntime | undefined;
  /** A request header's value by lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly startedAt: number;
  readonly startedMono: number;
  readonly ledger: Ledger;
}

/** A passage whose provider and caller are known, and whose path may be forwarded. */
export interface Admitted extends Passage {
  readonly runtime: ProviderRuntime;
  readonly token: TokenRecord | undefined;
  /** Path and query at the provider. */
  readonly path: string;
  readonly pathOnly: string;
}

const forbiddenMethods = new Set(["CONNECT", "TRACE"]);

/** Decides who asks for what, before a byte of the body is read. */
export function admit(
  passage: Passage,
  catalog: CatalogView,
  isOwnPage: (request: IncomingMessage) => boolean,
): Admitted | OwnError {
  const { target, request, runtime } = passage;
  if (parseTarget(request.url ?? "") === undefined) {
    return {
      code: "invalid_request",
      message: "The request target must be a path that begins with a provider's slug.",
    };
  }
  if (runtime === undefined) {
    return { code: "unknown_provider", message: `There is no provider "${shown(target.slug)}".` };
  }
  if (!runtime.record.enabled) {
    return { code: "unknown_provider", message: `The provider "${shown(target.slug)}" is disabled.` };
  }
  const token = tokenOf(passage, runtime, catalog);
  if (token === undefined && catalog.requiresToken && !isOwnPage(request)) return { code: "unauthorized" };
  if (token !== undefined && "code" in token) return token;
  if (forbiddenMethods.has(request.method ?? "")) {
    return { code: "invalid_request", message: `The method ${request.method ?? ""} cannot be forwarded.` };
  }
  const at = upstreamPath(runtime.record.kind, runtime.baseUrl, target);
  if ("refused" in at) return { code: "invalid_request", message: at.refused };
  return { ...passage, runtime, token, ...at };
}

/** The gateway token that the client showed, or why it is not good here. */
function tokenOf(
  { header, target, startedAt }: Passage,
  runtime: ProviderRuntime,
  catalog: CatalogView,
): TokenRecord | OwnError | undefined {
  for (const text of clientCredentials(header, target.query)) {
    const token = catalog.findToken(text);
    if (token === undefined) continue;
    const { name, providerIds, expiresAt } = token;
    if (providerIds !== null && !providerIds.includes(runtime.record.id)) return { code: "unauthorized" };
    if (expiresAt === null || startedAt < expiresAt) return token;
    const when = new Date(expiresAt).toISOString();
    return { code: "unauthorized", message: `The gateway token "${name}" has expired (${when}).` };
  }
  return undefined;
}

/** A piece of the caller's input in a message to him: short, and nothing that a terminal would act on. */
function shown(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, 64);
}
