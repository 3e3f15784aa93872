import { lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";

/** Whether a host (a name or an address, as it is written) is one that a provider must not be. */
export type IsForbidden = (host: string) => boolean;

/** A destination from which a cloud hands out credentials, or a link-local one; nothing was sent there. */
export class ForbiddenDestinationError extends Error {
  override readonly name = "ForbiddenDestinationError";

  /** @param address as which the host was looked up, if it was */
  constructor(host: string, address?: string) {
    const what = address === undefined ? `${host} is` : `${host} leads to ${address},`;
    super(
      `The provider's host ${what} a link-local or cloud metadata address, which could hand out the credentials of the ` +
        "gateway's machine: no connection is made. If it is meant, start the gateway with --allow-private-metadata.",
    );
  }
}

/** Why a host is not connected to whatever it resolves to, or undefined: judged by how it is written alone. */
export function forbiddenHost(hostname: string, isForbidden: IsForbidden): ForbiddenDestinationError | undefined {
  return isForbidden(hostname) ? new ForbiddenDestinationError(hostname) : undefined;
}

/**
 * A lookup that keeps forbidden addresses from being connected to. It runs for each new connection, and its answer is the
 * very one that is connected to: a name that changes its mind between a check and the connection (DNS rebinding) gains
 * nothing.
 *
 * Forbidden addresses are left out; it fails only if no other is left. A neighbour found by mDNS has a link-local address
 * beside its usual one, and is reached by the latter.
 */
export function guardedLookup(isForbidden: IsForbidden, lookup: LookupFunction = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found, family) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const all = typeof found === "string" ? [{ address: found, family: family ?? 0 }] : found;
      const allowed = all.filter(({ address }) => !isForbidden(address));
      const [first] = allowed;
      if (first === undefined && all[0] !== undefined) {
        callback(new ForbiddenDestinationError(hostname, all[0].address), []);
      } else if (options.all === true || first === undefined) {
        callback(null, allowed);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}
