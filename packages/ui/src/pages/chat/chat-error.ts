import { serverNow } from "../../api/server-time.ts";
import { messageIn } from "./dialects.ts";

/** Why there is no answer, or no whole one: kept with the turn, and told in words where it is shown. */
export interface TurnError {
  /** The gateway's own code, `provider` for what the provider itself answered, or `offline`. */
  readonly kind:
    | "pool_exhausted"
    | "no_usable_key"
    | "unauthorized"
    | "unknown_provider"
    | "upstream_unreachable"
    | "upstream_timeout"
    | "body_too_large"
    | "gateway"
    | "provider"
    | "broke_off"
    | "offline";
  /** Of the answer; 0 where there was none. */
  readonly status: number;
  /** What the gateway or the provider said; "" for nothing. */
  readonly message: string;
  /** From when on another try makes sense, RFC 3339. */
  readonly retryAt?: string;
}

const told: ReadonlySet<string> = new Set<TurnError["kind"]>([
  "pool_exhausted",
  "no_usable_key",
  "unauthorized",
  "unknown_provider",
  "upstream_unreachable",
  "upstream_timeout",
  "body_too_large",
]);
const longestMessage = 600;

/** The error of an answer that is not 2xx. */
export async function errorOf(response: Response): Promise<TurnError> {
  const code = response.headers.get("x-keywheel-error");
  const seconds = Number(response.headers.get("retry-after"));
  const retryAt = seconds > 0 ? { retryAt: new Date(serverNow() + seconds * 1_000).toISOString() } : {};
  const message = saidIn(await response.text().catch(() => ""));
  return { kind: kindOf(code), status: response.status, message, ...retryAt };
}

function kindOf(code: string | null): TurnError["kind"] {
  if (code === null) return "provider";
  return told.has(code) ? (code as TurnError["kind"]) : "gateway";
}

function saidIn(text: string): string {
  try {
    return messageIn(JSON.parse(text)).slice(0, longestMessage);
  } catch {
    // No JSON: a line of text is worth showing, a page is not.
    return /^\s*</.test(text) ? "" : text.trim().slice(0, longestMessage);
  }
}
