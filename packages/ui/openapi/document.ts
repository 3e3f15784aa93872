import { type ControlPlaneDeps, createControlPlane } from "../../gateway/src/control-plane/app.ts";

/** The gateway's OpenAPI document, made from its schemas without a gateway that runs. */
export function openApiDocument(): object {
  // Handlers use what they depend on when they are called, and none of them is.
  const unused = new Proxy({}, { get: () => ({}) }) as ControlPlaneDeps;
  const app = createControlPlane(unused);
  return app.getOpenAPI31Document({ openapi: "3.1.0", info: { title: "Keywheel control plane", version: "0" } });
}
