import { credentialFor, joinPath, type ProviderKind, type Secret } from "@keywheel/pool";
import type { ProviderRuntime } from "../catalog/catalog.ts";
import type { ClientPresence, Upstream, UpstreamResult } from "./upstream.ts";

export interface SideCall {
  /** Below the base URL, with its query. */
  readonly call: string;
  /** With whose key. */
  readonly secret: Secret;
  /** Beyond those that the provider needs; flat name, value, name, value. */
  readonly headers?: readonly string[];
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined;
}

const timeouts = { connectMs: 10_000, headersMs: 20_000, idleMs: 20_000 };

/** Asks a provider for something beside the wheel: no turn is taken, and no key is judged by what comes back. */
export function askBeside(runtime: ProviderRuntime, upstream: Upstream, side: SideCall): Promise<UpstreamResult> {
  const { call, secret, headers = [], signal } = side;
  const { kind } = runtime.record;
  const [path = "", query] = call.split("?");
  const basePath = runtime.baseUrl.pathname === "/" ? "" : runtime.baseUrl.pathname;
  const joined = joinPath(kind, basePath, path);
  return upstream.send({
    origin: runtime.baseUrl.origin,
    method: "GET",
    path: query === undefined ? joined : `${joined}?${query}`,
    headers: [...credentialFor(kind, secret, joined), "accept", "application/json", ...headers, ...versionHeader(kind)],
    body: undefined,
    timeouts,
    presence: presenceOf(signal),
  });
}

/** What a kind of provider wants with every call, where no client has sent it. */
function versionHeader(kind: ProviderKind): string[] {
  return kind === "anthropic" ? ["anthropic-version", "2023-06-01"] : [];
}

/** Whoever asked is there until the signal. */
function presenceOf(signal: AbortSignal | undefined): ClientPresence {
  return {
    get isGone() {
      return signal?.aborted === true;
    },
    onGone(callback) {
      signal?.addEventListener("abort", callback, { once: true });
      return () => signal?.removeEventListener("abort", callback);
    },
  };
}
