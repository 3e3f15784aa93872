import { createHmac } from "node:crypto";
import type { Secret } from "@keywheel/pool";

/** What a receiver is told, in the shape that the specification recommends. `at` is when it happened, epoch ms. */
export function bodyOf(type: string, data: object, at: number): string {
  return JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
}

export interface SignedMessage {
  readonly id: string;
  readonly body: string;
  /** `whsec_…`; while one takes the place of another, both. */
  readonly secrets: readonly Secret[];
  /** When it is sent, epoch ms: receivers refuse what is older than some minutes. */
  readonly at: number;
}

/**
 * The headers of one attempt, flat name, value, name, value: HMAC-SHA256 over `id.timestamp.body`, with each secret. Receivers
 * take a message if one of its signatures is right.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function signatureHeaders({ id, body, secrets, at }: SignedMessage): string[] {
  const timestamp = String(Math.floor(at / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.reveal().replace(/^whsec_/, ""), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return ["webhook-id", id, "webhook-timestamp", timestamp, "webhook-signature", signatures.join(" ")];
}
