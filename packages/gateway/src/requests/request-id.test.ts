import { describe, expect, it } from "vitest";
import { createRequestIds, instantOfRequestId } from "./request-id.ts";

describe("ids of requests", () => {
  it("tell when the request began", () => {
    const newId = createRequestIds("ab2c", 0);

    expect(newId(1_764_547_200_123)).toBe("req_mimdudffab2c0001");
    expect(instantOfRequestId("req_mimdudffab2c0001")).toBe(1_764_547_200_123);
  });

  it("of workers tell it as well, and which one it was", () => {
    const id = createRequestIds("ab2c", 12)(1_764_547_200_123);

    expect(id).toBe("req_mimdudffab2cwcx0001");
    expect(instantOfRequestId(id)).toBe(1_764_547_200_123);
  });

  it("are all different, also within one millisecond and when the clock goes back", () => {
    const newId = createRequestIds("ab2c", 0);

    const ids = [5, 5, 6, 5, 5, 0].map(newId);

    expect(new Set(ids).size).toBe(6);
    expect(ids[5]).toBe("req_00000000ab2c0006");
  });

  it("of two gateways that begin at the same instant are others", () => {
    const [one, other] = [createRequestIds("ab2c", 0), createRequestIds("d5ef", 0)];

    expect(one(5)).not.toBe(other(5));
  });

  it.each(["", "req_1", "req_MIMDUDFF0001", "key_mimdudff0001"])("that tell nothing: %s", (id) => {
    expect(instantOfRequestId(id)).toBeUndefined();
  });
});
