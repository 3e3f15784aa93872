import { createInstance } from "i18next";
import { expect, it } from "vitest";
import type { RecentEvent } from "../../api/openapi.ts";
import { createFormat } from "../../format/format.ts";
import { en } from "../../i18n/en/en.ts";
import { ko } from "../../i18n/ko/ko.ts";
import { eventText } from "./event-text.ts";

const i18n = createInstance();
await i18n.init({
  lng: "en",
  resources: { en: { translation: en }, ko: { translation: ko } },
  interpolation: { escapeValue: false },
});
const words = { t: i18n.t, format: createFormat("en"), providers: [] };

function textOf(parts: Partial<RecentEvent>): string | undefined {
  const event = { id: "1", at: "2026-01-01T00:00:00.000Z", label: null, api_key: null, ...parts } as RecentEvent;
  return eventText(event, words);
}

it("says of what is gone that it was deleted since, not that something deleted was added", () => {
  expect(textOf({ type: "provider-created", provider_id: "prv_a" })).toBe("A provider, deleted since, was added");
  expect(textOf({ type: "key-created", provider_id: "prv_a", key_id: "key_a" })).toBe(
    "A key, deleted since, was added to a deleted provider",
  );
});

it.each([
  [{ label: "Test" }, "삭제된 제공업체의 Test 키가 변경되었습니다"],
  [{}, "삭제된 제공업체의 삭제된 키가 변경되었습니다"],
  [{ key_id: "provider" }, "삭제된 제공업체의 제공업체 수준 키가 변경되었습니다"],
])("says once in Korean that %o is a key", async (key, text) => {
  const korean = { ...words, t: await i18n.changeLanguage("ko") };
  const event = { id: "1", at: "2026-01-01T00:00:00.000Z", type: "key-changed", key_id: "key_a", ...key };

  expect(eventText(event as unknown as RecentEvent, korean)?.replace(/[\u2068\u2069]/g, "")).toBe(text);
});
