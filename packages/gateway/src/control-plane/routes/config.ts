import { createRoute } from "@hono/zod-openapi";
import { KeywheelError } from "@keywheel/pool";
import { configExportSchema, type ConfigState, configStateSchema } from "../../contract/config-file.ts";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { guarded, problems } from "../problems.ts";
import { security } from "../security.ts";

const tags = ["configuration file"];
const stateAnswer = { description: "How it stands", content: { "application/json": { schema: configStateSchema } } };

const routes = {
  state: createRoute({
    method: "get",
    path: "/api/config",
    tags,
    summary: "How the file of configuration stands",
    description: "Every mistake of the file by line, if it has any. No value of it is repeated that may be a secret.",
    security,
    responses: { 200: stateAnswer, ...problems(...guarded) },
  }),
  reload: createRoute({
    method: "post",
    path: "/api/config/reload",
    tags,
    summary: "Read the file of configuration again now",
    description: "A change of the file is noticed by itself within about a second. Without a file: 404.",
    security,
    responses: { 200: stateAnswer, ...problems(...guarded, 404) },
  }),
  export: createRoute({
    method: "get",
    path: "/api/config/export",
    tags,
    summary: "All there is, as a file of configuration",
    description:
      "Providers, keys and tokens as an object in the shape of `keywheel.yaml`. It holds no secret: for a key whose value is " +
      "in the database, the variable is named that it is to be put into. Tokens are SHA-256 hashes.",
    security,
    responses: {
      200: { description: "The object", content: { "application/json": { schema: configExportSchema } } },
      ...problems(...guarded),
    },
  }),
};

const none: ConfigState = {
  file: null,
  state: "none",
  applied_at: null,
  problem: null,
  mistakes: [],
  warnings: [],
};

export function addConfigRoutes(app: ControlApp, { catalog, config }: ControlPlaneDeps): void {
  app.openapi(routes.state, (c) => c.json(config?.state() ?? none, 200));
  app.openapi(routes.reload, async (c) => {
    if (config === undefined) {
      throw new KeywheelError("not_found", "This gateway follows no configuration file", {
        hint: "Start it with `--config keywheel.yaml` (KEYWHEEL_CONFIG).",
      });
    }
    return c.json(await config.reload(), 200);
  });
  app.openapi(routes.export, (c) => c.json(catalog.declared.export(), 200));
}
