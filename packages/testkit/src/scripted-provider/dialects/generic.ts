import { reply } from "../reply.ts";
import type { CredentialPlace } from "../credentials.ts";
import type { Dialect } from "./dialect.ts";
import { openAiError } from "./openai.ts";

/**
 * A provider of no particular make: any path and method is answered with what came, its body told by length and hash.
 *
 * @param basePath default none
 * @param place    where it wants its key; default a bearer. "none" as local servers have it: any credential is a fault
 */
export function createGenericDialect(basePath = "", place: CredentialPlace = "bearer"): Dialect {
  return {
    basePath,
    credentialPlace: () => place,
    refuse: ({ faults }) =>
      openAiError(401, {
        message: `Unauthorized${faults.length === 0 ? "" : ` (test: ${faults.join("; ")})`}`,
        type: "authentication_error",
        code: "unauthorized",
      }),
    answer: (request) =>
      reply.json(
        200,
        {},
        {
          method: request.method,
          url: request.url,
          body_bytes: request.body.length,
          body_sha256: request.bodyHash,
        },
      ),
  };
}
