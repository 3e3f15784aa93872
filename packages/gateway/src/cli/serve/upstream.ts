import type { Clock } from "@keywheel/pool";
import { isMetadataHost } from "../../catalog/base-url.ts";
import { OutboundProxies } from "../../data-plane/outbound-proxy.ts";
import { UndiciUpstream } from "../../data-plane/undici-upstream.ts";
import type { Upstream } from "../../data-plane/upstream.ts";
import type { Environment } from "../settings.ts";

export interface UpstreamParts {
  readonly clock: Clock;
  /** Names the proxies on the way. */
  readonly environment: Environment;
  readonly allowPrivateMetadata: boolean;
}

/** The way to the providers, as this process is allowed to go it. @throws KeywheelError for a proxy that cannot be used */
export function openUpstream({ clock, environment, allowPrivateMetadata }: UpstreamParts): Upstream {
  return new UndiciUpstream(clock, {
    proxies: new OutboundProxies(environment),
    isForbidden: allowPrivateMetadata ? undefined : isMetadataHost,
  });
}
