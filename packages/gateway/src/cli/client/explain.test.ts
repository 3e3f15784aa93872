import { describe, expect, it } from "vitest";
import { Refusal } from "./api-client.ts";
import { explain, flagOf } from "./explain.ts";

function aRefusal(problem: object | string, status = 422): Refusal {
  return new Refusal({ status, body: typeof problem === "string" ? problem : JSON.stringify(problem) });
}

it.each([
  ["weight", "--weight"],
  ["base_url", "--base-url"],
  ["settings.cooldown.base_ms", "--setting cooldown.base_ms"],
])("the field %s is the flag %s", (path, flag) => {
  expect(flagOf(path)).toBe(flag);
});

describe("a refusal in words", () => {
  it("names each flag, once, and leaves out what the control plane says of fields", () => {
    const errors = [
      { path: "weight", message: "Expected `weight` to be an integer from 1 to 100, got 0" },
      { path: "slug", message: "This slug is reserved" },
    ];
    const refusal = aRefusal({
      code: "validation_failed",
      title: "Some fields are not valid",
      detail: errors[0]?.message,
      hint: "Correct the fields named in `errors`.",
      errors,
    });

    expect(explain(refusal).message).toBe(
      "Expected `--weight` to be an integer from 1 to 100, got 0.\n--slug: This slug is reserved.",
    );
  });

  it("says what to do in words of the command line", () => {
    const refusal = aRefusal(
      { code: "unknown_provider", detail: "There is no such provider", hint: "GET /api/…" },
      404,
    );

    expect(explain(refusal).message).toBe("There is no such provider.\n`keywheel provider list` shows them.");
  });

  it("passes on a hint that it has no better words for", () => {
    const refusal = aRefusal({ code: "store_unavailable", detail: "The disk is full", hint: "Make room." }, 503);

    expect(explain(refusal).message).toBe("The disk is full.\nMake room.");
  });

  it("gives the status where something else answered", () => {
    expect(explain(aRefusal("<html>nginx</html>", 502)).message).toBe("The gateway answered 502 Bad Gateway.");
  });

  it("lets no message play with the terminal", () => {
    expect(explain(aRefusal({ detail: "\u001b]0;title\u0007bad" })).message).not.toContain("\u001b");
  });
});
