import { expect, it } from "vitest";
import { connectionLimits } from "./open-files.ts";

it.each([
  ["as many as open files allow, two each", undefined, 20_256, { mostRunning: 10_000, mostConnections: 10_064 }],
  ["no more than the operator allows", 500, 20_256, { mostRunning: 500, mostConnections: 10_000 }],
  ["no more than open files allow", 50_000, 20_256, { mostRunning: 10_000, mostConnections: 10_064 }],
  ["a few on a system that allows hardly any", undefined, 256, { mostRunning: 16, mostConnections: 80 }],
  ["without bound", undefined, Infinity, { mostRunning: Infinity, mostConnections: Infinity }],
])("%s", (_name, asked, openFiles, expected) => {
  expect(connectionLimits(asked, openFiles)).toEqual(expected);
});

it("reads what this system allows", () => {
  expect(connectionLimits(undefined).mostRunning).toBeGreaterThanOrEqual(16);
});
