import { execFile, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { freePort } from "../../packages/testkit/src/free-port.ts";
import { findPrometheus } from "../../scripts/lib/prometheus.mjs";
import { piecesOf } from "../docs/shell.ts";
import { eventually, poolOf } from "../pooled-provider.ts";

// Rules and dashboard as they are shipped, read by a Prometheus that watches a gateway at work.

const deploy = fileURLToPath(new URL("../../deploy", import.meta.url));
const rulesFile = join(deploy, "prometheus", "keywheel.rules.yml");
const run = promisify(execFile);

function program(name: "prometheus" | "promtool"): string {
  const folder = findPrometheus();
  if (folder === undefined) throw new Error("There is no Prometheus here: `npm test` installs it.");
  return join(folder, name);
}

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

interface Dashboard {
  readonly uid: string;
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string | { query: string } }[];
  };
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
}

const rules = (parse(readFileSync(rulesFile, "utf8")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const dashboard = JSON.parse(readFileSync(join(deploy, "grafana", "keywheel.json"), "utf8")) as Dashboard;

/** What Grafana asks with, its variables filled in. */
const asked = [
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr }))),
  ...dashboard.annotations.list.map(({ expr }) => ({ title: "annotations", expr })),
].map(({ title, expr }) => ({
  title,
  expr: expr.replaceAll("$__rate_interval", "1m").replaceAll(/\$(?:provider|instance)/g, ".*"),
}));

let gateway: RunningGateway;
let base = "";
let stop: () => Promise<void> = async () => {};
beforeAll(async () => {
  gateway = await runGateway();
  const folder = mkdtempSync(join(tmpdir(), "keywheel-prometheus-"));
  const scrape = { job_name: "keywheel", static_configs: [{ targets: [new URL(gateway.url).host] }] };
  const global = { scrape_interval: "1s", evaluation_interval: "1s" };
  // JSON is YAML.
  const configuration = { global, rule_files: [rulesFile], scrape_configs: [scrape] };
  writeFileSync(join(folder, "prometheus.yml"), JSON.stringify(configuration));
  const address = `127.0.0.1:${await freePort()}`;
  base = `http://${address}/api/v1`;
  const child = spawn(
    program("prometheus"),
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: "ignore" },
  );
  stop = async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
});
afterAll(async () => {
  await stop();
  await gateway[Symbol.asyncDispose]();
});

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

async function query(expr: string): Promise<readonly Sample[]> {
  const response = await fetch(`${base}/query?query=${encodeURIComponent(expr)}`);
  const answer = (await response.json()) as { status: string; error?: string; data?: { result: readonly Sample[] } };
  if (answer.status !== "success") throw new Error(`${expr}: ${answer.error}`);
  return answer.data?.result ?? [];
}

it("the rules are such, to Prometheus's own tool, and pass their tests", async () => {
  const checked = await run(program("promtool"), ["check", "rules", rulesFile]);
  const tested = await run(program("promtool"), ["test", "rules", "keywheel.rules.test.yml"], {
    cwd: join(deploy, "prometheus"),
  });

  expect(checked.stdout).toContain(`${rules.length} rules found`);
  expect(tested.stdout + tested.stderr).toContain("SUCCESS");
});

/** What the pages show to people with a Prometheus of their own. */
const pages = ["docs/observability.md", "deploy/prometheus/README.md", "docs/ko/observability.md"].map((page) =>
  readFileSync(join(deploy, "..", page), "utf8"),
);

it("the configuration that the pages show is one, also with the line for what is not on loopback", async () => {
  const shown = pages.flatMap((text) => piecesOf(text, ["yaml"]).map(({ code }) => code));
  const beyond = shown.map((code) => code.replace(/# (authorization: .*)$/m, "$1"));
  const folder = mkdtempSync(join(tmpdir(), "keywheel-promtool-"));
  try {
    copyFileSync(rulesFile, join(folder, "keywheel.rules.yml"));
    writeFileSync(join(folder, "token"), "invented");
    const files = [...new Set([...shown, ...beyond])].map((code, at) => {
      const file = join(folder, `prometheus-${at}.yml`);
      writeFileSync(file, code.replace("/etc/prometheus/keywheel-admin-token", join(folder, "token")));
      return file;
    });

    const { stdout } = await run(program("promtool"), ["check", "config", ...files]);

    expect(stdout.match(/SUCCESS: \S+ is valid prometheus config file syntax/g)).toHaveLength(files.length);
    expect(files.length).toBeGreaterThan(3);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it("the questions that the pages show have answers", async () => {
  await using pool = await poolOf(gateway, { weights: [1, 1] });
  const questions = pages.flatMap((text) => piecesOf(text, ["promql"]).flatMap(({ code }) => code.split("\n\n")));

  const found = await eventually(
    async () => {
      await pool.turns(4);
      await pool.turns(1, { session: "a chat" });
      return Promise.all(questions.map(query));
    },
    (answers) => answers.every((answer) => answer.length > 0),
    { what: "all of them to be answered", timeoutMs: 30_000 },
  );

  expect(found.length).toBe(8);
}, 60_000);

it("the metrics are well-formed, to Prometheus's own tool", async () => {
  await using pool = await poolOf(gateway, { weights: [1, 1] });
  await pool.turns(3);
  const text = await (await fetch(`${gateway.url}/metrics`)).text();

  const child = run(program("promtool"), ["check", "metrics"]);
  child.child.stdin?.end(text);
  // Names that it would have otherwise are told on standard error, with an exit code of their own.
  const { stderr } = await child.catch((error: unknown) => error as { readonly stderr: string });

  // Of Node's own figures prom-client's names are what dashboards expect.
  const own = stderr.split("\n").filter((line) => /keywheel_/.test(line) || /error/i.test(line));
  expect(own).toEqual([]);
});

it("rules and dashboard ask for nothing that a gateway does not tell", async () => {
  await using pool = await poolOf(gateway, { weights: [3, 1], settings: { cooldown: { base_ms: 100, cap_ms: 100 } } });
  // One of everything that has to happen before it is told of.
  pool.provider.on().next(reply.status(429), reply.status(401));
  await pool.turns(4, { session: "a chat" });
  await pool.turns(2);
  for (const { id } of pool.keys) await gateway.api("PATCH", `/keys/${id}`, { enabled: true });
  await eventually(
    async () => (await pool.send()).status,
    (status) => status === 200,
    { what: "a key that is back" },
  );
  await gateway.api("POST", "/webhooks", { url: "http://127.0.0.1:9/" });
  pool.provider.on().times(2, reply.status(401));
  await pool.turns(2);
  const text = await eventually(
    async () => (await fetch(`${gateway.url}/metrics`)).text(),
    (found) => /^keywheel_webhook_deliveries_total\{/m.test(found),
    { what: "a webhook to be tried" },
  );

  const told = new Set([...text.matchAll(/^(\w+)(?:\{| )/gm)].map(([, name]) => name));
  const recorded = rules.flatMap(({ record }) => record ?? []);
  const named = [...rules, ...asked].flatMap(({ expr }) => [...expr.matchAll(/\b(?:keywheel|nodejs|process)[\w:]+/g)]);
  const unknown = named.map(([name]) => name).filter((name) => !told.has(name) && !recorded.includes(name));
  expect(named.length).toBeGreaterThan(50);
  expect([...new Set(unknown)]).toEqual([]);
});

it("Prometheus takes both, finds the gateway up, and no alert that there is no reason for", async () => {
  await using pool = await poolOf(gateway, { weights: [3, 1] });
  await eventually(
    async () => {
      await pool.turns(4);
      return query(`keywheel:key_turns:share15m{provider="${pool.record.slug}"}`);
    },
    (samples) => samples.length === 2,
    { what: "shares to be recorded", timeoutMs: 30_000 },
  );

  for (const { expr } of asked) await expect(query(expr)).resolves.toBeDefined();
  expect(await query('up{job="keywheel"}')).toMatchObject([{ value: [expect.any(Number), "1"] }]);
  const table = asked.filter(({ title }) => title === "Keys").map(({ expr }) => expr);
  expect(table.length).toBe(8);
  const counts = await Promise.all(
    table.map(async (expr) => (await query(expr)).filter(({ metric }) => metric.provider === pool.record.slug).length),
  );
  expect(counts).toEqual(table.map(() => 2));
  const firing = await query(`ALERTS{alertstate="firing",provider="${pool.record.slug}"}`);
  expect(firing).toEqual([]);
}, 60_000);

it("the dashboard is one that Grafana takes: panels that do not overlap, each with a number of its own", () => {
  const { panels, templating } = dashboard;
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
  );

  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(cells).size).toBe(cells.length);
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  expect(templating.list.map(({ name }) => name)).toEqual(["datasource", "instance", "provider"]);
  const sources = panels.flatMap(({ targets }) => targets.map(({ datasource }) => datasource.uid));
  expect(new Set(sources)).toEqual(new Set(["${datasource}"]));
});
