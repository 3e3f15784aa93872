import { expect, it } from "vitest";
import { consequences } from "../../docs/site/provider-pages.ts";
import { judge } from "../../packages/pool/src/rules/judge.ts";
import type { Meaning } from "../../packages/pool/src/rules/recognised-answer.ts";

/** What must stand in a sentence, and what must not, for what the judge decides. */
const words = {
  cool: /\brests\b/,
  "rest-model": /\brests for that model\b/,
  disable: /\bis disabled\b/,
} as const;

const meanings = Object.keys(consequences).filter((name) => name !== "succeeded") as Meaning[];

it.each(meanings)("the page of a provider says of `%s` what the judge decides", (means) => {
  const answers = [{ code: ["the_code"], means, source: "" }];
  const bodyText = JSON.stringify({ error: { message: "No", code: "the_code" } });

  const { key, request } = judge({ status: 400, header: () => undefined, bodyText, receivedAt: 0 }, { answers });

  const { en } = consequences[means];
  const told = Object.entries(words).filter(([, pattern]) => pattern.test(en));
  const expected = key.kind === "none" ? [] : key.kind === "rest-model" ? ["cool", "rest-model"] : [key.kind];
  expect(told.map(([kind]) => kind)).toEqual(expected);
  expect(/the next key serves/.test(en)).toBe(request === "next-key");
  expect(/one other key is tried/.test(en)).toBe(request === "one-other-key");
});
