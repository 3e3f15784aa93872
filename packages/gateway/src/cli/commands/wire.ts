// The shapes of answers, as types alone: the schemas behind them would load a validator that a command does not need.
import type { z } from "@hono/zod-openapi";
import type { affinitySchema, CachedInput, PoolAffinity, SessionAffinity } from "../../contract/affinity.ts";
import type { keyImportResultSchema, KeyOnTheWire, KeyTestResult } from "../../contract/key.ts";
import type { presetSchema, providerSchema } from "../../contract/provider.ts";
import type { sessionListSchema, sessionSchema } from "../../contract/session.ts";
import type { keyCountsSchema, statusSchema } from "../../contract/status.ts";
import type { newTokenSchema, tokenSchema } from "../../contract/token.ts";
import type { deliverySchema, newWebhookSchema, webhookSchema, webhookTestSchema } from "../../contract/webhook.ts";

export interface List<T> {
  readonly data: readonly T[];
}

export type { CachedInput, KeyOnTheWire, KeyTestResult, PoolAffinity, SessionAffinity };
export type Affinity = z.infer<typeof affinitySchema>;
export type ImportResult = z.infer<typeof keyImportResultSchema>;
export type KeyCounts = z.infer<typeof keyCountsSchema>;
export type NewToken = z.infer<typeof newTokenSchema>;
export type Preset = z.infer<typeof presetSchema>;
export type Provider = z.infer<typeof providerSchema>;
export type Session = z.infer<typeof sessionSchema>;
export type SessionList = z.infer<typeof sessionListSchema>;
export type Status = z.infer<typeof statusSchema>;
export type Token = z.infer<typeof tokenSchema>;
export type Delivery = z.infer<typeof deliverySchema>;
export type NewWebhook = z.infer<typeof newWebhookSchema>;
export type Webhook = z.infer<typeof webhookSchema>;
export type WebhookTest = z.infer<typeof webhookTestSchema>;
