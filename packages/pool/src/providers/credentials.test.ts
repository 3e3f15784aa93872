import { describe, expect, it } from "vitest";
import { Secret } from "../ports/secrets.ts";
import { clientCredentials, credentialFor, withoutKeyParameter, withoutKeySubprotocols } from "./credentials.ts";

function headers(values: Readonly<Record<string, string>>): (name: string) => string | undefined {
  return (name) => values[name];
}

describe("the client's credential", () => {
  it.each([
    ["authorization", { authorization: "Bearer kw_token" }, ""],
    ["authorization in other spelling", { authorization: "bearer   kw_token" }, ""],
    ["authorization without a scheme", { authorization: "kw_token" }, ""],
    ["x-api-key", { "x-api-key": "kw_token" }, ""],
    ["api-key", { "api-key": "kw_token" }, ""],
    ["x-goog-api-key", { "x-goog-api-key": "kw_token" }, ""],
    ["?key=", {}, "alt=sse&key=kw_token"],
    ["?key= encoded", {}, "%6bey=kw%5Ftoken"],
    [
      "the realtime subprotocol",
      { "sec-websocket-protocol": "realtime, openai-insecure-api-key.kw_token, openai-beta.realtime-v1" },
      "",
    ],
  ])("is found in %s", (_, values, query) => {
    expect(clientCredentials(headers(values), query)).toEqual(["kw_token"]);
  });

  it("may stand in several places at once, or in none", () => {
    expect(clientCredentials(headers({ authorization: "Bearer a", "x-api-key": "b" }), "key=c")).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect(clientCredentials(headers({ authorization: "Bearer " }), "monkey=1")).toEqual([]);
  });
});

describe("the query without its key", () => {
  it.each([
    ["key=k", ""],
    ["alt=sse&key=k", "alt=sse"],
    ["key=k&alt=sse&key=l", "alt=sse"],
    ["%6Bey=k&a=%20b", "a=%20b"],
    ["monkey=1&keys=2&a=key=3", "monkey=1&keys=2&a=key=3"],
    ["a=%zz", "a=%zz"],
    ["", ""],
  ])("%s becomes %s", (query, expected) => {
    expect(withoutKeyParameter(query)).toBe(expected);
  });
});

it("takes the item with a key out of a list of subprotocols", () => {
  expect(withoutKeySubprotocols("realtime, openai-insecure-api-key.k,openai-beta.realtime-v1")).toEqual([
    "realtime",
    "openai-beta.realtime-v1",
  ]);
});

describe("the provider's credential", () => {
  it.each([
    ["openai", "/v1/chat/completions", ["authorization", "Bearer sk-test-1"]],
    ["openai-compatible", "/v1/chat/completions", ["authorization", "Bearer sk-test-1"]],
    ["anthropic", "/v1/messages", ["x-api-key", "sk-test-1"]],
    ["gemini", "/v1beta/models/g:generateContent", ["x-goog-api-key", "sk-test-1"]],
    ["gemini", "/v1beta/openai/chat/completions", ["authorization", "Bearer sk-test-1"]],
    ["azure-openai", "/openai/deployments/d", ["api-key", "sk-test-1"]],
  ] as const)("of kind %s on %s is %j", (kind, path, expected) => {
    expect(credentialFor(kind, new Secret("sk-test-1"), path)).toEqual(expected);
  });

  it("of Anthropic's OAuth kind is a bearer token (case 58)", () => {
    expect(credentialFor("anthropic", new Secret("sk-ant-oat01-test"), "/v1/messages")[0]).toBe("authorization");
  });
});
