import { describe, expect, it } from "vitest";
import { readRedisUrl } from "./redis-url.ts";

describe("a Redis URL", () => {
  it.each([
    ["redis://cache", { kind: "single", hosts: [{ host: "cache", port: 6379 }], tls: false, db: 0 }],
    ["rediss://cache:6380/3", { kind: "single", hosts: [{ host: "cache", port: 6380 }], tls: true, db: 3 }],
    ["redis://[::1]:7000", { kind: "single", hosts: [{ host: "::1", port: 7000 }] }],
    ["redis://:p%40ss@cache", { username: undefined, password: "p@ss" }],
    ["redis://me:a:b@cache", { username: "me", password: "a:b" }],
    [
      "redis://a:7000,b:7001",
      {
        kind: "cluster",
        hosts: [
          { host: "a", port: 7000 },
          { host: "b", port: 7001 },
        ],
      },
    ],
    ["redis://a:7000?cluster=true", { kind: "cluster", hosts: [{ host: "a", port: 7000 }] }],
    ["redis://a:26379,b:26379/1?sentinel=mymaster", { kind: "sentinel", master: "mymaster", db: 1 }],
  ])("%s", (url, parts) => {
    expect(readRedisUrl(url)).toMatchObject(parts);
  });

  it.each([
    "",
    "cache:6379",
    "http://cache",
    "redis://",
    "redis://a:0",
    "redis://a:70000",
    "redis://a,",
    "redis://a b",
    "redis://a/x",
    "redis://a?ttl=1",
    "redis://a?sentinel=",
    "redis://a,b/1",
    "redis://%:%@a",
  ])("refused: %j", (url) => {
    expect(readRedisUrl(url)).toBeUndefined();
  });
});
