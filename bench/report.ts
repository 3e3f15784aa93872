import { type Chart, drawChart } from "./chart.ts";
import { type Conditions, type Measurement, type Metric, type Results, summary } from "./results.ts";
import { spreadOf, type Summary, summaryOf } from "./statistics.ts";
import { judge, type Judged, type Target } from "./targets.ts";
import type { Workload } from "./workloads.ts";

/** A column of the figures: a metric, as people read it. */
interface Column {
  readonly metric: Metric;
  readonly title: string;
  readonly format: (value: number) => string;
}

const whole = (value: number): string => Math.round(value).toLocaleString("en");
const precise = (value: number): string =>
  Math.abs(value) >= 100 ? whole(value) : value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
const column = (metric: Metric, title: string, format = whole): Column => ({ metric, title, format });

const columns: readonly Column[] = [
  column("rate", "requests/s"),
  column("cpuUs", "CPU µs a request"),
  column("p50", "p50 µs"),
  column("p99", "p99 µs"),
  column("eventRate", "events/s"),
  column("eventCpuUs", "CPU µs an event", precise),
  column("delayP50", "delay p50 µs"),
  column("delayP99", "delay p99 µs"),
  column("firstP50", "first event p50 µs"),
  column("streamBytes", "KB a stream", (bytes) => precise(bytes / 1_024)),
  column("stalled", "stalled"),
  column("startMs", "start to first answer, ms"),
  column("idleBytes", "memory at rest, MB", (bytes) => precise(bytes / 1_048_576)),
  column("sessionBytes", "bytes a session"),
];

/** Names for people, by the contender's. */
export type Titles = Readonly<Record<string, string>>;

export interface Report {
  /** Everything after the heading, as Markdown. @param images the folder of the charts, as the page sees it */
  markdown(images: string): string;
  /** By file name. */
  readonly charts: Readonly<Record<string, string>>;
}

export function reportOf(
  results: Results,
  workloads: readonly Workload[],
  targets: readonly Target[],
  titles: Titles,
): Report {
  const drawn = chartsOf(results, titles);
  return {
    charts: Object.fromEntries(drawn.map(({ file, chart }) => [file, drawChart(chart)])),
    markdown: (images) =>
      [
        conditionsOf(results.conditions, results),
        "### Targets",
        targetTable(targets.map((target) => judge(target, results))),
        ...(drawn.length > 0 ? ["### Charts"] : []),
        ...drawn.map(({ file, chart }) => `![${chart.title}](${images}/${file})`),
        "### Figures",
        "The median of the rounds, ± half the distance between the highest and the lowest.",
        ...workloads.flatMap((workload) => figuresOf(results, workload, titles)),
        ...absencesOf(results),
      ].join("\n\n"),
  };
}

/** The judgements, as a table. */
export function targetTable(judged: readonly Judged[]): string {
  const rows = judged.map(({ target, summary, isMet }) => [
    target.name,
    `${target.isHigherBetter ? "≥" : "≤"} ${withUnit(target.floor, target)}`,
    target.goal === undefined ? "" : withUnit(target.goal, target),
    summary === undefined ? "not measured" : withSpread(summary, (value) => withUnit(value, target)),
    summary === undefined ? "" : isMet ? "yes" : "**no**",
  ]);
  return table(["what", "floor", "goal", "measured", "met"], rows);
}

function withUnit(value: number, { unit }: Target): string {
  const number = Number.isInteger(value) ? String(value) : precise(value);
  return unit === "times" ? `${number} ×` : unit === "streams" ? number : `${number} ${unit}`;
}

function withSpread(summary: Summary, format: (value: number) => string): string {
  if (summary.count === 1) return format(summary.median);
  const share = spreadOf(summary);
  return share === 0 ? format(summary.median) : `${format(summary.median)} ± ${Math.round(share * 100)} %`;
}

function figuresOf(results: Results, { name, title }: Workload, titles: Titles): string[] {
  const own = results.measurements.filter(({ workload }) => workload === name);
  if (own.length === 0) return [];
  const shown = columns.filter(({ metric }) => own.some(({ metrics }) => metrics[metric] !== undefined));
  const arms = new Map(own.map((each) => [`${each.contender} ${each.setup}`, each]));
  const rows = [...arms.values()].map(({ contender, setup }) => [
    armTitle(titles, contender, setup),
    ...shown.map(({ metric, format }) => {
      const found = summary(results, name, contender, metric, setup);
      return found === undefined ? "" : withSpread(found, format);
    }),
  ]);
  const faults = own.filter(({ fault }) => fault !== undefined).map((each) => faultLine(each, titles));
  return [
    `#### ${title}`,
    table(["", ...shown.map(({ title }) => title)], rows),
    ...(faults.length > 0 ? [faults.join("\n")] : []),
  ];
}

function armTitle(titles: Titles, contender: string, setup: Measurement["setup"]): string {
  const title = titles[contender] ?? contender;
  return setup === "plain" ? title : `${title}, ${setup.replace("-", " ")}`;
}

function faultLine({ round, contender, setup, fault }: Measurement, titles: Titles): string {
  return `- Round ${round + 1}, ${armTitle(titles, contender, setup)}, counts for nothing: ${fault ?? ""}`;
}

function absencesOf({ absences }: Results): string[] {
  if (absences.length === 0) return [];
  return ["#### Took no part", absences.map(({ who, why }) => `- ${who}: ${why.replaceAll("\n", " ")}`).join("\n")];
}

function conditionsOf(conditions: Conditions, { measurements }: Results): string {
  const {
    command,
    at,
    commit,
    processor,
    cores,
    memoryGib,
    system,
    node,
    rounds,
    seconds,
    warmSeconds,
    placement,
    versions,
  } = conditions;
  const others = summaryOf(measurements.flatMap(({ others }) => (others === undefined ? [] : [others])));
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`.trim());
  return [
    `- Made by \`${command}\` at ${at}, commit ${commit}`,
    `- Machine: ${processor}, ${cores} cores, ${memoryGib} GiB, ${system}, Node ${node}`,
    `- ${placement}`,
    `- Rounds: ${rounds}; each turn ${warmSeconds} s of warm-up, then ${seconds} s measured`,
    `- Measured: ${named.join(", ")}`,
    ...(others === undefined ? [] : othersOf(others)),
  ].join("\n");
}

/** What others may take of a core before rates are those of the machine's other work. */
const tooMuch = 0.15;

function othersOf({ median, most }: Summary): string[] {
  const percent = (share: number): string => `${precise(share * 100)} %`;
  return [
    `- Other programs took ${percent(median)} of a core meanwhile (median; at most ${percent(most)})`,
    ...(median > tooMuch
      ? ["- **The machine was not ours: rates and latencies say little; processor times hold better.**"]
      : []),
  ];
}

interface Drawn {
  readonly file: string;
  readonly chart: Chart;
}

function chartsOf(results: Results, titles: Titles): Drawn[] {
  const kib = (bytes: number): string => `${precise(bytes / 1_024)} KB`;
  const wanted = [
    [
      "performance-1k.svg",
      "1k64",
      "rate",
      "1 KB requests, one core, 64 connections",
      "requests a second; more is better",
      whole,
    ],
    [
      "performance-100k.svg",
      "100k",
      "rate",
      "100 KB requests, one core, 64 connections",
      "requests a second; more is better",
      whole,
    ],
    [
      "performance-latency.svg",
      "latency",
      "p50",
      "One request at a time",
      "µs to the end of the answer, p50; less is better",
      whole,
    ],
    [
      "performance-events.svg",
      "streams200",
      "eventCpuUs",
      "200 streams at 100 events a second",
      "processor time of an event, µs; less is better",
      precise,
    ],
    ["performance-streams.svg", "idle1000", "streamBytes", "1,000 open streams", "memory of each; less is better", kib],
  ] as const;
  return wanted.flatMap(([file, workload, metric, title, note, format]) => {
    const bars = Object.keys(titles).flatMap((contender) => {
      const found = summary(results, workload, contender, metric);
      if (found === undefined) return [];
      const { median: value, least, most } = found;
      return [{ label: titles[contender] ?? contender, value, least, most, isOurs: contender === "keywheel" }];
    });
    return bars.length === 0 ? [] : [{ file, chart: { title, note, format, bars } }];
  });
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, at) =>
    Math.max(3, ...[head, ...rows].map((row) => (row[at] ?? "").length), cell.length),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
