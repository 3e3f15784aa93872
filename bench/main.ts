// What Keywheel costs, beside what others cost: see README.md.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, release, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { say } from "../scripts/lib/say.mjs";
import type { Contender, Surroundings } from "./contender.ts";
import { direct } from "./contenders/direct.ts";
import { keywheel } from "./contenders/keywheel.ts";
import { nginx, tlsFront } from "./contenders/nginx.ts";
import { ccflare, portkey } from "./contenders/peers.ts";
import { undici } from "./contenders/undici.ts";
import { type Cores, takeCores } from "./cores.ts";
import { freePort, listens } from "./instance.ts";
import { compileNative, type Native } from "./native.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { type Pinned, startPinned } from "./processes.ts";
import { ensureCompiler, ensureNginx, makeCertificate } from "./programs.ts";
import { type Pages, writeReport } from "./publish.ts";
import { reportOf, targetTable } from "./report.ts";
import type { Absence, Conditions, Measurement, Results } from "./results.ts";
import { Runner } from "./runner.ts";
import { judge, shortTargets, targets } from "./targets.ts";
import { type Workload, workloadsOf } from "./workloads.ts";

const root = join(import.meta.dirname, "..");
const found: { native?: Native; nginx?: string } = {};
const needed = <T>(value: T | undefined, what: string): T => {
  if (value === undefined) throw new Error(`There is no ${what} here.`);
  return value;
};
const contenders: readonly Contender[] = [
  direct(() => needed(found.native, "upstream").upstream),
  nginx(() => needed(found.nginx, "nginx")),
  undici,
  portkey,
  ccflare,
  keywheel,
];

async function main(words: readonly string[]): Promise<number> {
  const command = ["npm run bench", ...(words.length > 0 ? ["--", ...words] : [])].join(" ");
  const options = readOptions(words, {
    workloads: workloadsOf(0).map(({ name }) => name),
    contenders: contenders.map(({ name }) => name),
  });
  const chosen = contenders.filter(({ name }) => options.contenders?.includes(name) ?? true);
  const workloads = workloadsOf(options.manySessions).filter(({ name }) => options.only?.includes(name) ?? true);

  const folder = mkdtempSync(join(tmpdir(), "keywheel-bench-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  // What was started ends with us, however we end.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

  const asked = options.isShort ? shortTargets : targets;
  const titles = Object.fromEntries(chosen.map(({ name, title }) => [name, title]));
  const pages: Pages = { root, out: options.out ?? join(root, "bench", ".last"), isPublished: options.isPublished };
  // After each round, so that a run that is ended early has told what it knew.
  const write = (results: Results, isPublished: boolean): void =>
    writeReport({ ...pages, isPublished }, results, reportOf(results, workloads, asked, titles));
  const results = await measure(command, options, chosen, workloads, folder, (soFar) => write(soFar, false));
  write(results, options.isPublished);

  const judged = asked.map((target) => judge(target, results)).filter(({ summary }) => summary !== undefined);
  say(`\n${targetTable(judged)}\n\nAll of it: ${join(pages.out, "RESULTS.md")}`);
  for (const { who, why } of results.absences) say(`${who} took no part: ${why}`);
  const isGood = judged.length === asked.length && judged.every(({ isMet }) => isMet);
  return options.isShort && !isGood ? 1 : 0;
}

async function measure(
  command: string,
  options: Options,
  chosen: readonly Contender[],
  workloads: readonly Workload[],
  folder: string,
  afterRound: (results: Results) => void,
): Promise<Results> {
  const absences: Absence[] = [];
  const orAbsent = async <T>(who: string, make: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await make();
    } catch (error) {
      absences.push({ who, why: error instanceof Error ? error.message : String(error) });
      return undefined;
    }
  };
  const native = compileNative(await ensureCompiler(), join(root, "bench", ".native"));
  found.native = native;
  const isTls = workloads.some(({ setups }) => setups?.includes("tls"));
  if (isTls || chosen.some(({ name }) => name === "nginx")) {
    const program = await orAbsent("nginx", ensureNginx);
    if (program !== undefined) found.nginx = program;
  }

  const cores = takeCores();
  const port = await freePort();
  await using upstream = startPinned([native.upstream, String(port)], {
    core: cores.upstream,
    log: join(folder, "upstream.log"),
  });
  await listens(port);
  const plain = { cores, upstreamUrl: `http://127.0.0.1:${port}`, tls: undefined, freePort, node: process.execPath };
  const front = isTls ? await orAbsent("the TLS upstream", () => startTls(plain, folder)) : undefined;
  await using _front = front?.process;

  const runner = new Runner(
    { ...options, contenders: chosen, workloads },
    {
      surroundings: { ...plain, tls: front?.tls },
      folder,
      load: { program: native.load, core: cores.load, log: join(folder, "load.log") },
      upstreamPid: upstream.pid,
      say,
    },
  );
  const conditions = conditionsOf(command, options, chosen, cores);
  const resultsOf = (measurements: readonly Measurement[]): Results => ({
    conditions,
    absences: [...absences, ...runner.absences],
    measurements,
  });
  return resultsOf(await runner.run((measurements) => afterRound(resultsOf(measurements))));
}

/** nginx puts TLS before the upstream, on the upstream's core. */
async function startTls(
  surroundings: Omit<Surroundings, "folder">,
  folder: string,
): Promise<{ process: Pinned; tls: { url: string; certificate: string } }> {
  const files = await makeCertificate(folder);
  const port = await freePort();
  const command = tlsFront(needed(found.nginx, "nginx"), port, { ...surroundings, folder }, files);
  const process = startPinned(command, { core: surroundings.cores.upstream, log: join(folder, "tls-front.log") });
  await listens(port);
  return { process, tls: { url: `https://localhost:${port}`, certificate: files.certificate } };
}

function conditionsOf(command: string, options: Options, chosen: readonly Contender[], cores: Cores): Conditions {
  const { rounds, seconds, warmSeconds, manySessions } = options;
  const together =
    cores.load === cores.upstream ? "load and upstream together on another" : "load and upstream each on another";
  return {
    command,
    at: new Date().toISOString().slice(0, 16).replace("T", " ") + " UTC",
    commit: commit(),
    processor: cpus()[0]?.model.trim() ?? "unknown processor",
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: systemName(),
    node: process.versions.node,
    rounds,
    seconds,
    warmSeconds,
    manySessions,
    placement: `Each contender alone on one core, ${together}; all on loopback`,
    versions: Object.fromEntries(chosen.map((each) => [each.title, versionOf(each)])),
  };
}

function versionOf({ version }: Contender): string {
  try {
    return version();
  } catch {
    // It took no part, and the results say why.
    return "";
  }
}

function commit(): string {
  try {
    const git = (...words: string[]): string => execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
    return (
      git("rev-parse", "--short", "HEAD") +
      (git("status", "--porcelain", "--", "packages") === "" ? "" : " and changes")
    );
  } catch {
    // Not a clone.
    return "unknown";
  }
}

function systemName(): string {
  try {
    const name = /^PRETTY_NAME="(.*)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "Linux";
    return `${name}, Linux ${release()}`;
  } catch {
    // A system without that file has no name to tell.
    return `Linux ${release()}`;
  }
}

if (process.argv.includes("--help")) {
  process.stdout.write(usage);
} else {
  main(process.argv.slice(2)).then(
    (code) => (process.exitCode = code),
    (error: unknown) => {
      say(error instanceof Error ? error.message : String(error));
      process.exitCode = 1;
    },
  );
}
