import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { generatedFile, generateTypes } from "./generate.ts";
import { toTypeScript } from "./typescript.ts";

it("finds the pages' types as the gateway's schemas make them; `npm run ui:types` writes them anew", () => {
  expect(readFileSync(generatedFile, "utf8")).toBe(generateTypes());
});

it("leaves out what a write carries back without effect", () => {
  const properties = { id: { readOnly: true, description: "fixed" }, name: { type: "string" } };
  const schemas = { Patch: { type: "object", properties } };

  expect(toTypeScript({ components: { schemas }, paths: {} })).toContain("export type Patch = {\nname?: string;\n};");
});

it("refuses a schema that it has no type for", () => {
  const document = { components: { schemas: { Odd: { type: "date" } } }, paths: {} };

  expect(() => toTypeScript(document)).toThrow("There is no type here");
});
