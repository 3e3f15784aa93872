import type { IncomingMessage, ServerResponse } from "node:http";
import { isKeywheelError } from "@keywheel/pool";
import type { AdminAuth } from "../../control-plane/auth.ts";
import type { Metrics } from "../../telemetry/metrics.ts";

export interface MetricsRoom {
  readonly metrics: Pick<Metrics, "text">;
  /**
   * Whom to ask whether the caller may see them. Undefined while the gateway is bound to loopback: whoever is on this
   * machine may read them, as Prometheus does by default. They hold slugs and key ids, and no secret.
   */
  readonly auth: Pick<AdminAuth, "check"> | undefined;
}

/** `GET /metrics`. Never rejects. */
export async function answerMetrics(
  request: IncomingMessage,
  response: ServerResponse,
  { metrics, auth }: MetricsRoom,
): Promise<void> {
  const answer = (status: number, contentType: string, body: string): void => {
    response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" });
    response.end(request.method === "HEAD" ? undefined : body);
  };
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    return answer(405, "text/plain", "Only GET.\n");
  }
  try {
    auth?.check(bearerOf(request), request.socket.remoteAddress ?? "");
    const { contentType, body } = await metrics.text();
    answer(200, contentType, body);
  } catch (error) {
    if (!isKeywheelError(error)) return answer(500, "text/plain", "The metrics cannot be read; see the log.\n");
    if (error.status === 401) response.setHeader("www-authenticate", 'Bearer realm="keywheel"');
    if (error.retryAfterMs !== undefined) response.setHeader("retry-after", Math.ceil(error.retryAfterMs / 1000));
    answer(
      error.status,
      "text/plain",
      "Beyond loopback the metrics are for whoever shows the admin token as a bearer token.\n",
    );
  }
}

function bearerOf({ headers }: IncomingMessage): string {
  return /^bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1] ?? "";
}
