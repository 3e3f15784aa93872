import { createRoute, z } from "@hono/zod-openapi";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { variableSchema } from "../../contract/environment.ts";
import { security } from "../security.ts";
import { guarded, problems } from "../problems.ts";

const name = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,254}$/, {
    error: "a variable's name: letters, digits and underscores, no digit first",
  })
  .openapi({ example: "OPENAI_KEY_1" });

const route = createRoute({
  method: "get",
  path: "/api/environment/{name}",
  tags: ["keys"],
  summary: "Whether an environment variable could serve as a key",
  description: "For whoever is about to enter `$NAME`. No value is shown.",
  security,
  request: { params: z.object({ name }) },
  responses: {
    200: { description: "The variable", content: { "application/json": { schema: variableSchema } } },
    ...problems(...guarded, 422),
  },
});

export function addEnvironmentRoutes(app: ControlApp, { catalog }: ControlPlaneDeps): void {
  app.openapi(route, (c) => {
    const kind = catalog.peekVariable(c.req.valid("param").name);
    return c.json({ set: kind === "resolved", problem: kind === "resolved" ? null : kind }, 200);
  });
}
