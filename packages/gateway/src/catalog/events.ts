/** A change of the configuration. Ids and times only, never a value. */
export type CatalogEvent =
  | {
      readonly type: "provider-created" | "provider-changed" | "provider-deleted";
      readonly providerId: string;
      readonly at: number;
    }
  | {
      readonly type: "key-created" | "key-changed" | "key-deleted";
      readonly providerId: string;
      readonly keyIds: readonly string[];
      readonly at: number;
    }
  | { readonly type: "key-order-changed"; readonly providerId: string; readonly at: number }
  | {
      readonly type: "token-created" | "token-changed" | "token-deleted";
      readonly tokenId: string;
      readonly at: number;
    }
  | {
      readonly type: "session-ended";
      readonly sessionId: string;
      readonly providerIds: readonly string[];
      readonly at: number;
    };
