import { describe, expect, it } from "vitest";
import { drawChart } from "./chart.ts";
import { withResults } from "./publish.ts";
import { reportOf, targetTable } from "./report.ts";
import type { Measurement, Results } from "./results.ts";
import { judge, shortTargets, targets } from "./targets.ts";
import { workloadsOf } from "./workloads.ts";

const titles = { nginx: "nginx", keywheel: "Keywheel" };

const rate = (round: number, contender: string, requests: number, fault?: string): Measurement => ({
  round,
  workload: "1k64",
  contender,
  setup: "plain",
  metrics: { rate: requests },
  ...(fault === undefined ? {} : { fault }),
});

function resultsOf(measurements: readonly Measurement[]): Results {
  return {
    conditions: {
      command: "npm run bench -- --rounds 3",
      at: "2026-01-01 00:00 UTC",
      commit: "abc1234",
      processor: "a processor",
      cores: 2,
      memoryGib: 8,
      system: "a system",
      node: "24.0.0",
      rounds: 3,
      seconds: 5,
      warmSeconds: 2,
      manySessions: 1_000_000,
      placement: "Each alone",
      versions: { nginx: "1.22.1", Keywheel: "0.1.0" },
    },
    absences: [{ who: "portkey", why: "the registry\ndid not answer" }],
    measurements,
  };
}

const ofNginx = targets.filter(({ name }) => name === "1 KB, 64 connections, of nginx");

describe("judge", () => {
  it("compares within rounds, not medians of both sides", () => {
    // A machine that gets four times slower from round to round: each round says 40 %.
    const slowing = [1_000, 250, 62.5].flatMap((speed, round) => [
      rate(round, "nginx", speed),
      rate(round, "keywheel", speed * 0.4),
    ]);

    const [judged] = ofNginx.map((target) => judge(target, resultsOf(slowing)));

    expect(judged).toMatchObject({ isMet: true, summary: { count: 3 } });
    expect(judged?.summary?.most).toBeCloseTo(40);
    expect(judged?.summary?.least).toBeCloseTo(40);
  });

  it("counts nothing of a turn that went wrong", () => {
    const measurements = [
      rate(0, "nginx", 100),
      rate(0, "keywheel", 90, "half of it failed"),
      rate(1, "nginx", 100),
      rate(1, "keywheel", 20),
    ];

    const [judged] = ofNginx.map((target) => judge(target, resultsOf(measurements)));

    expect(judged).toMatchObject({ isMet: false, summary: { count: 1, median: 20 } });
  });

  it("meets nothing that was not measured", () => {
    const judged = [...targets, ...shortTargets].map((target) => judge(target, resultsOf([])));

    expect(judged.filter(({ isMet, summary }) => isMet || summary !== undefined)).toEqual([]);
    expect(targetTable(judged)).not.toContain("yes");
  });

  it("lets a time be at its floor, and not above", () => {
    const start = (startMs: number): Results =>
      resultsOf([{ round: 0, workload: "start", contender: "keywheel", setup: "plain", metrics: { startMs } }]);
    const [target] = targets.filter(({ name }) => name === "start to the first answer");

    expect([700, 701].map((ms) => target && judge(target, start(ms)).isMet)).toEqual([true, false]);
  });
});

describe("the report", () => {
  const results = resultsOf([
    rate(0, "nginx", 1_000),
    rate(1, "nginx", 1_200),
    rate(0, "keywheel", 500),
    rate(1, "keywheel", 480, "7 answers with another status than 200"),
  ]);
  const report = reportOf(results, workloadsOf(1_000_000), targets, titles);
  const text = report.markdown("images");

  it("says how it was made, in what conditions, and who took no part and why", () => {
    expect(text).toContain("`npm run bench -- --rounds 3`");
    expect(text).toContain("commit abc1234");
    expect(text).toContain("nginx 1.22.1, Keywheel 0.1.0");
    expect(text).toContain("- portkey: the registry did not answer");
  });

  it("warns of a machine that does other work", () => {
    const shared = (others: number): string =>
      reportOf(resultsOf([{ ...rate(0, "nginx", 100), others }]), workloadsOf(1_000), targets, titles).markdown(
        "images",
      );

    expect(shared(0.5)).toContain("50.0 % of a core meanwhile");
    expect(shared(0.5)).toContain("The machine was not ours");
    expect(shared(0.05)).not.toContain("The machine was not ours");
  });

  it("gives median and spread, and tells what counts for nothing", () => {
    expect(text).toMatch(/\| nginx +\| 1,100 ± 9 % \|/);
    expect(text).toMatch(/\| Keywheel +\| 500 +\|/);
    expect(text).toContain("- Round 2, Keywheel, counts for nothing: 7 answers with another status than 200");
  });

  it("shows what was measured only, in tables and in charts", () => {
    expect(Object.keys(report.charts)).toEqual(["performance-1k.svg"]);
    expect(text).toContain("![1 KB requests, one core, 64 connections](images/performance-1k.svg)");
    expect(text).not.toContain("1 KB JSON, 256 connections");
  });
});

it("draws bars to scale, with the spread of their rounds, and words for those who do not see them", () => {
  const bar = { least: 50, most: 100, isOurs: false };
  const chart = drawChart({
    title: "A < B",
    note: "more is better",
    format: (value) => `${value}/s`,
    bars: [
      { ...bar, label: "one", value: 100 },
      { ...bar, label: "other", value: 50, isOurs: true },
    ],
  });
  const widths = [...chart.matchAll(/<rect [^>]*width="([\d.]+)"[^>]*class="(\w+)"/g)].map(([, width, kind]) => [
    Number(width),
    kind,
  ]);

  expect(widths).toEqual([
    [480, "other"],
    [240, "ours"],
  ]);
  expect(chart).toContain("A &lt; B");
  expect(chart).toContain("more is better: one 100/s, other 50/s");
});

it("draws what is all naught without a number that is none", () => {
  const bars = [{ label: "one", value: 0, least: 0, most: 0, isOurs: true }];

  expect(drawChart({ title: "t", note: "n", format: String, bars })).not.toMatch(/NaN|Infinity/);
});

it("replaces what stands between the marks of a page, and nothing else", () => {
  const page = "before\n<!-- results: written by npm run bench -->\nold\n<!-- end of results -->\nafter\n";

  expect(withResults(page, "new")).toBe(
    "before\n<!-- results: written by npm run bench -->\n\nnew\n\n<!-- end of results -->\nafter\n",
  );
  expect(() => withResults("no marks", "new")).toThrow("<!-- end of results -->");
});
