/** A provider's settings with every default filled in, in code's names and milliseconds. @see contract §3 */
export interface ProviderSettings {
  readonly cooldown: { readonly baseMs: number; readonly capMs: number; readonly scope: "key" | "model" };
  readonly affinity: { readonly enabled: boolean; readonly idleTtlMs: number };
  readonly retry: { readonly providerErrors: number };
  readonly timeouts: { readonly connectMs: number; readonly headersMs: number; readonly idleMs: number };
  readonly maxBodyBytes: number;
}
