import { safeMethods } from "@keywheel/pool";
import { ForbiddenDestinationError } from "./destinations.ts";
import { ProxyError } from "./outbound-proxy-tunnel.ts";

/** A request that got no answer. */
export interface BrokenDelivery {
  readonly kind: "broken";
  readonly fault: "unreachable" | "timeout";
  readonly repeatable: boolean;
  readonly message: string;
  /** What broke it, for the log. */
  readonly cause: unknown;
}

/** What is known of a request when it breaks. */
export interface FaultContext {
  readonly method: string;
  /** Whether anything was written to the provider. */
  readonly hasStarted: boolean;
  /** Whether the connection had carried a request before. */
  readonly isReused: boolean;
  /** Whether anything came back, a beginning of a head even. */
  readonly hasAnswered: boolean;
  readonly elapsedMs: number;
}

/** Of a connection that broke: the system's words for it, undici's and our own client's. */
const resets = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "HTTP1_CLOSED"]);
/**
 * A provider that closes an idle connection just as we write to it does so within a round trip; what breaks later may
 * have been worked on (field cases 36 and 37).
 */
const idleRaceMs = 1_000;

/**
 * What a transport error means for the request.
 *
 * It may be sent again only if the provider cannot have begun to work on it: nothing was written, the method has no
 * effect, or an idle connection was closed under it. The last is likely, not certain: a connection that carried an
 * earlier request and breaks within a second may in rare cases have delivered this one.
 *
 * @see contract §4 rule 6, RFC 9110 §9.2.2
 */
export function faultOf(error: unknown, context: FaultContext): BrokenDelivery {
  const code = codeOf(error);
  const broken = { kind: "broken", cause: error } as const;
  if (code === "UND_ERR_HEADERS_TIMEOUT" || code === "HTTP1_HEADERS_TIMEOUT") {
    return {
      ...broken,
      fault: "timeout",
      repeatable: false,
      message: "The provider sent no response headers in time.",
    };
  }
  if (code === "UND_ERR_CONNECT_TIMEOUT" || code === "HTTP1_CONNECT_TIMEOUT") {
    return { ...broken, fault: "unreachable", repeatable: false, message: "No connection to the provider in time." };
  }
  if (code.startsWith("HPE_") || code === "HTTP1_BAD_ANSWER" || isBadAnswer(error)) {
    return { ...broken, fault: "unreachable", repeatable: false, message: "The provider's answer is not valid HTTP." };
  }
  if (error instanceof ProxyError || error instanceof ForbiddenDestinationError) {
    return { ...broken, fault: "unreachable", repeatable: false, message: error.message };
  }
  const isReset = resets.has(code);
  const isUnworked = !context.hasStarted || safeMethods.has(context.method);
  const isIdleRace = context.isReused && context.elapsedMs < idleRaceMs;
  const repeatable = isReset && !context.hasAnswered && (isUnworked || isIdleRace);
  return { ...broken, fault: "unreachable", repeatable, message: messageFor(code) };
}

/** What undici says of an answer that it does not take, an unasked `100 Continue` among them: there was an answer. */
function isBadAnswer(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code: unknown = Reflect.get(error, "code");
  if (error.name === "HTTPParserError" || code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") return true;
  return code === "UND_ERR_SOCKET" && error.message === "bad response";
}

/** The code of an error, or of the first one behind it that has one (several addresses were tried). */
export function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const code: unknown = Reflect.get(error, "code");
  if (typeof code === "string") return code;
  const errors: unknown = Reflect.get(error, "errors");
  if (Array.isArray(errors) && errors.length > 0) return codeOf(errors[0]);
  return codeOf(Reflect.get(error, "cause"));
}

function messageFor(code: string): string {
  const known: Record<string, string> = {
    ECONNREFUSED: "The provider's address refuses connections.",
    ENOTFOUND: "The provider's host name is not known.",
    EAI_AGAIN: "The provider's host name could not be looked up.",
    ECONNRESET: "The connection to the provider was reset.",
    EPIPE: "The connection to the provider was closed.",
    UND_ERR_SOCKET: "The connection to the provider was closed before it answered.",
    HTTP1_CLOSED: "The connection to the provider was closed before it answered.",
    EHOSTUNREACH: "There is no route to the provider.",
    ENETUNREACH: "There is no route to the provider.",
    ETIMEDOUT: "The connection to the provider timed out.",
  };
  return (
    known[code] ??
    (isCertificateCode(code)
      ? `The provider's certificate is not trusted (${code}).`
      : "The connection to the provider failed.")
  );
}

function isCertificateCode(code: string): boolean {
  return code.includes("CERT") || code.startsWith("ERR_TLS") || code === "UNABLE_TO_VERIFY_LEAF_SIGNATURE";
}
