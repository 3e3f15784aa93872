/** Under which names answers are kept. Events name what to load anew by the first words. */
export const queryKeys = {
  status: ["status"],
  presets: ["presets"],
  providers: ["providers"],
  provider: (id: string) => ["providers", id],
  /** @param provider its id, not its slug: events carry ids */
  keys: (provider: string) => ["keys", provider],
  key: (id: string) => ["key", id],
  preview: (provider: string) => ["preview", provider],
  environment: (name: string) => ["environment", name],
  sessions: ["sessions"],
  requests: ["requests"],
  usage: ["usage"],
  notices: ["notices"],
  recentEvents: ["recent-events"],
  tokens: ["tokens"],
  webhooks: ["webhooks"],
  webhookDeliveries: (id: string) => ["webhook-deliveries", id],
} as const;
