import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isKeywheelError, PoolError } from "./errors.ts";
import { errorTable, KeywheelError } from "./gateway-errors.ts";

describe("KeywheelError", () => {
  it("carries what its code means, unless more is known", () => {
    const plain = new KeywheelError("pool_exhausted");
    const told = new KeywheelError("pool_exhausted", "All rest.", {
      status: 529,
      hint: "Wait.",
      retryAfterMs: 5,
      cause: 1,
    });

    expect(plain).toMatchObject({ status: 429, message: errorTable.pool_exhausted.title, details: [] });
    expect(told).toMatchObject({ status: 529, message: "All rest.", hint: "Wait.", retryAfterMs: 5, cause: 1 });
  });

  it("is the class of the library's errors too, which have the same table", () => {
    const error = new PoolError("invalid_request", "No.", { details: [{ path: "p", message: "No." }] });

    expect(error instanceof KeywheelError).toBe(true);
    expect(new Error("x") instanceof KeywheelError).toBe(false);
    expect(Object.entries(error)).toEqual(
      Object.entries(new KeywheelError("invalid_request", "No.", { details: error.details })),
    );
    expect([error.name, error.message]).toEqual(["KeywheelError", "No."]);
  });

  it("is recognised across copies of the package", () => {
    expect(isKeywheelError(new KeywheelError("internal"))).toBe(true);
    expect(isKeywheelError(Object.assign(new Error("x"), { [Symbol.for("keywheel.error")]: true }))).toBe(true);
    for (const other of [new Error("x"), null, "x", {}]) expect(isKeywheelError(other)).toBe(false);
  });
});

it("docs/errors.md says of every code what the table says", () => {
  const page = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
  const rows = page
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|").map((cell) => cell.trim()));

  expect(rows).toEqual(
    Object.entries(errorTable).map(([code, { status, title, hint }]) => [
      "",
      `\`${code}\``,
      `${status}`,
      title,
      hint,
      "",
    ]),
  );
});
