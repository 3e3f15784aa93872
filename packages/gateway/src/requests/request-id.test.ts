import { describe, expect, it } from "vitest";
import { createRequestIds, instantOfRequestId } from "./request-id.ts";

describe("ids of requests", () => {
  it("tell when the request began", () => {
    const newId = createRequestIds(0);

    expect(newId(1_764_547_200_123)).toBe("req_mimdudff0001");
    expect(instantOfRequestId("req_mimdudff0001")).toBe(1_764_547_200_123);
  });

  it("of workers tell it as well, and which one it was", () => {
    const id = createRequestIds(12)(1_764_547_200_123);

    expect(id).toBe("req_mimdudffwcx0001");
    expect(instantOfRequestId(id)).toBe(1_764_547_200_123);
  });

  it("are all different, also within one millisecond and when the clock goes back", () => {
    const newId = createRequestIds(0);

    const ids = [5, 5, 6, 5, 5, 0].map(newId);

    expect(new Set(ids).size).toBe(6);
    expect(ids[5]).toBe("req_000000000006");
  });

  it.each(["", "req_1", "req_MIMDUDFF0001", "key_mimdudff0001"])("that tell nothing: %s", (id) => {
    expect(instantOfRequestId(id)).toBeUndefined();
  });
});
