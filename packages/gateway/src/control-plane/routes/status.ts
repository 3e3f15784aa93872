import { createRoute, type z } from "@hono/zod-openapi";
import type { KeyView } from "../../catalog/catalog.ts";
import type { ConfigState } from "../../contract/config-file.ts";
import type { keyCountsSchema } from "../../contract/status.ts";
import { statusSchema } from "../../contract/status.ts";
import { toTime, toTimeOrNull } from "../../contract/wire.ts";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { security } from "../security.ts";
import { guarded, problems } from "../problems.ts";

type KeyCounts = z.infer<typeof keyCountsSchema>;

const route = createRoute({
  method: "get",
  path: "/api/status",
  tags: ["gateway"],
  summary: "How the gateway and its pools stand",
  security,
  responses: {
    200: { description: "The state now", content: { "application/json": { schema: statusSchema } } },
    ...problems(...guarded),
  },
});

export function addStatusRoutes(app: ControlApp, deps: ControlPlaneDeps): void {
  const { catalog, clock, info, store } = deps;
  app.openapi(route, async (c) => {
    const providers = await Promise.all(catalog.providers.list().map((provider) => statusOf(deps, provider)));
    const keys = providers.map((provider) => provider.keys).reduce(sum, noKeys);
    const body = {
      version: info.version,
      started_at: toTime(info.startedAt),
      uptime_ms: Math.max(0, clock.now() - info.startedAt),
      urls: [...info.urls()],
      require_token: catalog.requiresToken,
      master_key_ok: info.masterKeyOk(),
      store: {
        ok: store.trouble === undefined,
        trouble: store.trouble?.message ?? null,
        hint: store.trouble?.hint ?? null,
        damaged: store.trouble?.isDamage ?? false,
      },
      shared_state: sharedStateOf(info.sharing),
      config: configOf(deps.config?.state()),
      load: loadOf(info.load()),
      counts: { providers: providers.length, keys, tokens: catalog.tokens.count },
      providers,
    };
    return c.json(body, 200);
  });
}

function sharedStateOf({ kind, trouble }: ControlPlaneDeps["info"]["sharing"]) {
  const why = trouble();
  return { kind, ok: why === undefined, trouble: why ?? null };
}

function configOf(state: ConfigState | undefined) {
  if (state === undefined || state.file === null) return null;
  return { file: state.file, ok: state.state === "applied", problem: state.problem };
}

function loadOf(load: ReturnType<ControlPlaneDeps["info"]["load"]>) {
  return {
    requests_running: load.running,
    requests_limit: load.mostRunning,
    event_loop_delay_ms: Math.round(load.loopDelayMs),
    memory_share: Math.round(load.memoryShare * 1000) / 1000,
    refused_share: load.refusedShare,
    reason: load.reason ?? null,
  };
}

const noKeys: KeyCounts = { total: 0, available: 0, cooling_down: 0, disabled: 0, unresolved: 0 };

type Provider = ReturnType<ControlPlaneDeps["catalog"]["providers"]["get"]>;

async function statusOf({ catalog }: ControlPlaneDeps, provider: Provider) {
  const { record } = provider;
  const views = await catalog.keys.list(record.id);
  const keys = countOf(views);
  const ownKeyServes = !provider.hasKeys && provider.providerSecret() !== undefined;
  const resting = views.flatMap((view) => (view.status === "cooling_down" ? [view.cooldownUntil ?? 0] : []));
  return {
    id: record.id,
    slug: record.slug,
    name: record.name,
    enabled: record.enabled,
    base_url: record.baseUrl,
    keys,
    can_serve: record.enabled && (keys.available > 0 || ownKeyServes),
    // No spread into Math.min: a pool may hold more keys than a call takes arguments.
    next_available_at: toTimeOrNull(resting.reduce<number | null>((first, at) => Math.min(first ?? at, at), null)),
  };
}

function countOf(views: readonly KeyView[]): KeyCounts {
  const counts = { ...noKeys, total: views.length };
  for (const { status } of views) counts[status] += 1;
  return counts;
}

function sum(one: KeyCounts, other: KeyCounts): KeyCounts {
  return {
    total: one.total + other.total,
    available: one.available + other.available,
    cooling_down: one.cooling_down + other.cooling_down,
    disabled: one.disabled + other.disabled,
    unresolved: one.unresolved + other.unresolved,
  };
}
