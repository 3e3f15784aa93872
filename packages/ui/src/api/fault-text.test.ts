import i18next from "i18next";
import { describe, expect, it } from "vitest";
import { errorTable } from "../../../pool/src/gateway-errors.ts";
import { fieldFaults } from "../../../gateway/src/contract/field-faults.ts";
import { formatOf } from "../format/format.ts";
import { en } from "../i18n/en/en.ts";
import { ko } from "../i18n/ko/ko.ts";
import { errorText } from "./error-text.ts";
import { faultText } from "./fault-text.ts";
import type { FieldFault, Problem } from "./openapi.ts";
import { ApiError } from "./problem.ts";

/** What the gateway sends with a code; the numbers that no code of a test needs are left out. */
const params = { min: 3, max: 4_096, length: 5_000, at: 7, line: 2 };
const message = "The API's own words, in English.";

const instance = i18next.createInstance();
await instance.init({ resources: { en: { translation: en }, ko: { translation: ko } } });

describe.each(["en", "ko"] as const)("in the language of the page: %s", (language) => {
  const t = instance.getFixedT(language);
  const isSaid = (text: string): boolean =>
    text !== message && !/\{\{|undefined|faults\.|errors\./.test(text) && (language === "en" || /[가-힣]/.test(text));

  it.each(fieldFaults)("says what is wrong with a field: %s", (code) => {
    const texts = ["", "api_key", "base_url", "name", "weight", "expires_at"].map((path) =>
      faultText({ code, params, message }, path, t),
    );

    expect(texts.filter((text) => !isSaid(text))).toEqual([]);
  });

  it.each(Object.keys(errorTable) as Problem["code"][])("says what went wrong: %s", (code) => {
    const errors = [{ path: "weight", message, code: "too_large" as const, params: { max: 100 } }];
    const error = new ApiError({ status: 400, code, detail: message, errors }, { retryAfterMs: 2_000 });

    expect(errorText(error, t, formatOf(language))).not.toContain(message);
    expect(isSaid(errorText(error, t, formatOf(language)))).toBe(true);
  });

  it("falls back on the API's words for a code that a newer gateway has", () => {
    expect(faultText({ code: "from_the_future" as FieldFault, message }, "weight", t)).toBe(message);
  });
});
