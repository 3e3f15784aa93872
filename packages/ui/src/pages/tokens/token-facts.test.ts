import { expect, it } from "vitest";
import { connectPath, reachOf } from "./token-facts.ts";

const providers = [
  { id: "prv_a", slug: "openai", name: "OpenAI" },
  { id: "prv_b", slug: "claude", name: "Claude" },
];

it("leads to the only provider's snippets, and to the list where there are several or none", () => {
  expect(connectPath(providers.slice(0, 1))).toBe("/settings/providers/openai?part=connect");
  expect(connectPath(providers)).toBe("/settings/providers");
  expect(connectPath([])).toBe("/settings/providers");
  expect(connectPath(undefined)).toBe("/settings/providers");
});

it("names the providers that a token is limited to, without those that are gone", () => {
  expect(reachOf({ providers: null }, providers)).toBeUndefined();
  expect(reachOf({ providers: ["prv_b", "prv_z"] }, providers)).toEqual(["Claude"]);
  expect(reachOf({ providers: ["prv_z"] }, providers)).toEqual([]);
});
