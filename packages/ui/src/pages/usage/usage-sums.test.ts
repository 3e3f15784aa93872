import type { TFunction } from "i18next";
import { expect, it } from "vitest";
import type { UsageRow } from "../../api/openapi.ts";
import { drawnRows, fileCounts, fileCountsOf, noSums, restName, seriesName, sumUp } from "./usage-sums.ts";

const t = ((key: string) => key) as unknown as TFunction;
const words = { t, providers: [] };

function row(parts: Partial<UsageRow>): UsageRow {
  const none = { requests: 0, errors: 0, failovers: 0, reasoning_tokens: 0, output_tokens: 0 };
  return { ...none, input_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, ...parts };
}

const [first, second] = ["2026-01-01T00:00:00.000Z", "2026-01-01T01:00:00.000Z"];

it("puts the same input tokens into a file as on the page", () => {
  const counted = row({ input_tokens: 3_000, cache_read_tokens: 14_000, cache_write_tokens: 276, output_tokens: 5 });

  expect(fileCountsOf(counted).input_tokens).toBe(sumUp([counted], "key", words)[0]?.sums.input_tokens);
  expect(fileCountsOf(counted)).toMatchObject({ input_tokens: 17_276, of_input_cache_read_tokens: 14_000 });
  expect(Object.keys(fileCountsOf(counted))).toEqual(fileCounts);
});

it("sums each key up over time, most requests first, and names those without a label by their mask", () => {
  const rows = [
    row({ at: first, key_id: "a", label: "", api_key: "sk-…1", requests: 1 }),
    row({ at: first, key_id: "b", label: "B", api_key: "sk-…2", requests: 2, errors: 1 }),
    row({ at: second, key_id: "b", label: "B", api_key: "sk-…2", requests: 3 }),
    row({ at: second, key_id: null, label: "", api_key: null, requests: 1 }),
  ];

  expect(sumUp(rows, "key", words).map(({ name, sums }) => [name, sums.requests, sums.errors])).toEqual([
    ["B", 5, 1],
    ["sk-…1", 1, 0],
    ["usage.noKey", 1, 0],
  ]);
});

it("counts as input all that was sent, cached or not", () => {
  const rows = [row({ model: "m", input_tokens: 10, cache_read_tokens: 5, cache_write_tokens: 2, output_tokens: 3 })];

  expect(sumUp(rows, "model", words)[0]?.sums).toEqual({
    ...noSums,
    input_tokens: 17,
    cache_read_tokens: 5,
    output_tokens: 3,
  });
});

it("draws a few groups and the rest as one, in every bucket", () => {
  const rows = ["m.1", "m2", "m3"].map((model, at) => row({ at: first, model, requests: at + 1 }));
  const starts = [Date.parse(first), Date.parse(second)];

  expect(drawnRows(rows, starts, { ids: new Set(["m.1"]), group: "model", count: "requests" })).toEqual([
    { at: starts[0], values: { [seriesName("m.1")]: 1, [restName]: 5 } },
    { at: starts[1], values: {} },
  ]);
  expect(seriesName("m.1")).not.toContain(".");
});
