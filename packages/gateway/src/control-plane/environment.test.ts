import { afterAll, beforeAll, expect, it } from "vitest";
import { type ControlBench, openControlBench } from "./control-plane.test-bench.ts";

let bench: ControlBench;
const variables: Record<string, string> = { SET: "sk-set-0123456789", EMPTY: "", SPACED: "two words" };
beforeAll(async () => {
  bench = await openControlBench({ variables });
});
afterAll(() => bench.close());

it.each([
  ["SET", { set: true, problem: null }],
  ["set", { set: false, problem: "unset" }],
  ["EMPTY", { set: false, problem: "empty" }],
  ["SPACED", { set: false, problem: "unsendable" }],
])("tells of the variable %s whether it could serve as a key, and no value", async (name, expected) => {
  const { status, body } = await bench.call("GET", `/api/environment/${name}`);

  expect([status, body]).toEqual([200, expected]);
});

it("sees a variable that was set since, for it remembers nothing", async () => {
  await bench.call("GET", "/api/environment/LATE");

  variables.LATE = "sk-late-0123456789";
  const { body } = await bench.call("GET", "/api/environment/LATE");

  expect(body).toEqual({ set: true, problem: null });
});

it.each(["1ST", "A-B", "%24HOME"])("refuses %s, which is no name", async (name) => {
  const { status, body } = await bench.call("GET", `/api/environment/${name}`);

  expect([status, body.errors[0].path]).toEqual([422, "name"]);
});
