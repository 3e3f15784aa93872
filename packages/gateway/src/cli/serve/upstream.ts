import type { Clock } from "@keywheel/pool";
import { isMetadataHost } from "../../catalog/base-url.ts";
import { Http1Upstream } from "../../data-plane/http1/http1-upstream.ts";
import { OutboundProxies } from "../../data-plane/outbound-proxy.ts";
import type { Upstream } from "../../data-plane/upstream.ts";
import type { Environment } from "../settings.ts";
import type { UpstreamClient } from "../start-options.ts";

export interface UpstreamParts {
  readonly clock: Clock;
  /** Names the proxies on the way. */
  readonly environment: Environment;
  readonly allowPrivateMetadata: boolean;
  readonly upstreamClient: UpstreamClient;
}

/** The way to the providers, as this process is allowed to go it. @throws KeywheelError for a proxy that cannot be used */
export async function openUpstream({
  clock,
  environment,
  allowPrivateMetadata,
  upstreamClient,
}: UpstreamParts): Promise<Upstream> {
  const options = {
    proxies: new OutboundProxies(environment),
    isForbidden: allowPrivateMetadata ? undefined : isMetadataHost,
  };
  if (upstreamClient === "own") return new Http1Upstream(clock, options);
  // It takes a tenth of a second and ten megabytes, of which most gateways have no use.
  const { UndiciUpstream } = await import("../../data-plane/undici-upstream.ts");
  return new UndiciUpstream(clock, options);
}
