import { type Reply, reply } from "../reply.ts";
import type { Dialect } from "./dialect.ts";
import { answerAsOpenAi } from "./openai.ts";

/** Azure OpenAI: `api-key` only; deployments want an `api-version`, the `/v1` surface does not. */
export function createAzureDialect(): Dialect {
  const basePath = "/openai";
  return {
    basePath,
    credentialPlace: () => "api-key",
    refuse({ faults }) {
      const note = faults.length === 0 ? "" : ` (test: ${faults.join("; ")})`;
      const message =
        "Access denied due to invalid subscription key or wrong API endpoint. " +
        `Make sure to provide a valid key for an active subscription.${note}`;
      return azureError(401, message);
    },
    answer(request, objects) {
      const path = request.path.slice(basePath.length);
      const deployed = /^\/deployments\/[\w.-]+(\/.+)$/.exec(path)?.[1];
      if (deployed !== undefined && request.query.has("api-version")) return answerAsOpenAi(deployed, request, objects);
      if (path.startsWith("/v1/")) return answerAsOpenAi(path.slice(3), request, objects);
      return azureError(404, "Resource not found");
    },
  };
}

function azureError(status: number, message: string): Reply {
  return reply.json(status, { "apim-request-id": "req-test" }, { error: { code: String(status), message } });
}
