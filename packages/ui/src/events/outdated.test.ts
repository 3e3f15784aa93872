import { expect, it } from "vitest";
import { frequentEvents } from "../../../gateway/src/control-plane/event-hub.ts";
import { queryKeys } from "../api/query-keys.ts";
import { eventTypes, type GatewayEvent } from "./live-events.ts";
import { outdatedBy } from "./outdated.ts";

const parts = { provider_id: "prv_a", key_id: "key_a", attempt: { key_id: "key_a" }, provider_ids: ["prv_a"] };

// What the gateway does not keep for later cannot be asked for anew; with every request, it would be asked for in vain.
it.each(eventTypes)("asks anew for what happened lately only for what the gateway keeps: %s", (type) => {
  const event = { id: "1", type, at: "2026-01-01T00:00:00.000Z", ...parts } as unknown as GatewayEvent;

  expect(outdatedBy(event).queries.includes(queryKeys.recentEvents)).toBe(!frequentEvents.has(type));
});

it("knows every event that comes with each request", () => {
  expect([...frequentEvents].filter((type) => !eventTypes.some((known) => known === type))).toEqual([]);
});
