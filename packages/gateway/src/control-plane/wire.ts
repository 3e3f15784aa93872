import type { z } from "@hono/zod-openapi";
import type { Catalog, KeyView, TokenRecord } from "../catalog/catalog.ts";
import type { KeyOnTheWire } from "../contract/key.ts";
import type { PresetSlug, providerSchema } from "../contract/provider.ts";
import type { sessionSchema } from "../contract/session.ts";
import { settingsToWire } from "../contract/settings.ts";
import type { tokenSchema } from "../contract/token.ts";
import { toTime, toTimeOrNull } from "../contract/wire.ts";
import type { SessionRecord } from "../store/store.ts";

type Provider = ReturnType<Catalog["providers"]["get"]>;

export function providerToWire({
  record,
  settings,
  maskedApiKey,
  isManaged,
}: Provider): z.infer<typeof providerSchema> {
  return {
    id: record.id,
    slug: record.slug,
    name: record.name,
    kind: record.kind,
    preset: record.preset as PresetSlug | null,
    base_url: record.baseUrl,
    api_key: maskedApiKey,
    enabled: record.enabled,
    settings: settingsToWire(settings),
    managed_by: managedBy(isManaged),
    created_at: toTime(record.createdAt),
    updated_at: toTime(record.updatedAt),
  };
}

export function keyToWire(view: KeyView): KeyOnTheWire {
  const { record, reason, stats } = view;
  return {
    id: record.id,
    provider_id: record.providerId,
    api_key: view.masked,
    label: record.label,
    weight: record.weight,
    enabled: record.enabled,
    order: record.order,
    group: record.group,
    organization: view.organization,
    project: view.project,
    status: view.status,
    status_reason: reason && {
      code: reason.code,
      http_status: reason.httpStatus,
      message: reason.message,
      at: toTime(reason.at),
      wait: reason.wait,
      shared_from: view.sharedFrom && {
        key_id: view.sharedFrom.keyId,
        label: view.sharedFrom.label,
        api_key: view.sharedFrom.masked,
      },
    },
    cooldown_until: toTimeOrNull(view.cooldownUntil),
    consecutive_failures: view.consecutiveFailures,
    bound_sessions: view.boundSessions,
    stats: {
      requests: stats.requests,
      successes: stats.successes,
      failures: stats.failures,
      last_used_at: toTimeOrNull(stats.lastUsedAt),
    },
    managed_by: managedBy(view.isManaged),
    created_at: toTime(record.createdAt),
    updated_at: toTime(record.updatedAt),
  };
}

export function tokenToWire(record: TokenRecord, isManaged: boolean): z.infer<typeof tokenSchema> {
  return {
    id: record.id,
    name: record.name,
    prefix: record.prefix,
    providers: record.providerIds === null ? null : [...record.providerIds],
    expires_at: toTimeOrNull(record.expiresAt),
    max_requests_per_minute: record.maxRequestsPerMinute,
    max_concurrent: record.maxConcurrent,
    managed_by: managedBy(isManaged),
    created_at: toTime(record.createdAt),
    last_used_at: toTimeOrNull(record.lastUsedAt),
  };
}

function managedBy(isManaged: boolean): "file" | null {
  return isManaged ? "file" : null;
}

export function sessionToWire(
  session: SessionRecord,
  catalog: Pick<Catalog, "byId" | "labelOfKey" | "maskedOfKey">,
): z.infer<typeof sessionSchema> {
  return {
    id: session.id,
    carrier: session.carrier,
    provider_id: session.providerId,
    provider: catalog.byId(session.providerId)?.record.slug ?? null,
    key_id: session.keyId,
    label: catalog.labelOfKey(session.keyId) ?? null,
    api_key: catalog.maskedOfKey(session.keyId) ?? null,
    bound_at: toTime(session.boundAt),
    last_used_at: toTime(session.lastUsedAt),
    requests: session.requests,
  };
}
