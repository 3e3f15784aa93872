import { KeywheelError } from "@keywheel/pool";
import type { ModelList } from "../../data-plane/model-list.ts";
import type { Upstream } from "../../data-plane/upstream.ts";
import type { Redactor } from "../../telemetry/redactor.ts";
import type { Core } from "./core.ts";

/** Asks a provider for its models, for the control plane. @throws KeywheelError unknown_provider, no_usable_key, upstream_unreachable */
export type ModelLister = (provider: string, signal: AbortSignal) => Promise<readonly string[]>;

/** Some keys may do everything but list models. */
const mostKeysAsked = 3;

/** Available keys are asked first, then resting ones; a disabled key never. @see field case 101 */
export function createModelLister(
  { catalog }: Core,
  { redact }: Pick<Redactor, "redact">,
  upstream: () => Promise<Upstream>,
): ModelLister {
  return async (provider, signal) => {
    const runtime = catalog.providers.get(provider);
    const keys = (await catalog.keys.list(provider)).filter(
      ({ status }) => status === "available" || status === "cooling_down",
    );
    keys.sort((one, other) => Number(one.status !== "available") - Number(other.status !== "available"));
    const ofPool = keys.slice(0, mostKeysAsked).flatMap(({ record }) => runtime.secretOf(record.id) ?? []);
    const secrets = runtime.hasKeys ? ofPool : [runtime.providerSecret()].flatMap((secret) => secret ?? []);
    if (secrets.length === 0) throw new KeywheelError("no_usable_key");
    const { listModels } = await import("../../data-plane/model-list.ts");
    let last: Extract<ModelList, { ok: false }> | undefined;
    for (const secret of secrets) {
      const list = await listModels(runtime, secret, await upstream(), signal);
      if (list.ok) return list.models;
      last = list;
    }
    throw new KeywheelError("upstream_unreachable", redact(last?.message ?? ""));
  };
}
