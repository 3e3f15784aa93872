import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Redactor } from "../../telemetry/redactor.ts";
import { ApiClient, Refusal } from "../client/api-client.ts";
import { createHttpTransport } from "../client/http-transport.ts";
import type { KeyOnTheWire, List, SessionList } from "../commands/wire.ts";
import { openBrowser } from "../open-browser.ts";
import { openLog } from "../open-log.ts";
import type { Gateway } from "../serve/gateway.ts";
import { type Flags, readSettings } from "../settings.ts";
import { readStartOptions } from "../start-options.ts";
import type { Terminal } from "../terminal.ts";
import { seconds } from "../values.ts";
import { changesBetween, remembering, type Scene } from "./narrator.ts";
import { type DemoProvider, startDemoProvider } from "./provider.ts";
import { createStage, longestMs, preparePool, slug } from "./stage.ts";
import { type Stage, storyOf } from "./story.ts";
import type { Tally } from "./traffic.ts";

const shortestSeconds = 5;
/** So often the gateway is looked at. */
const lookMs = 150;

/** `--seconds` of the demo. */
const demoSettings = {
  seconds: {
    name: "seconds",
    argument: "<number>",
    description: "end by itself after so long",
    parse: seconds(shortestSeconds, 86_400),
    fallback: undefined,
  },
} as const;

/** Shows on a gateway of its own what happens to keys, until it is interrupted. Nothing is left behind. */
export async function demo(flags: Flags, terminal: Terminal, json: boolean): Promise<void> {
  const { seconds: given } = readSettings(demoSettings, { seconds: flags["seconds"] }, {});
  const lengthMs = Math.min(longestMs, given === undefined ? longestMs : given * 1000);
  const interruption = onWishToStop();
  const dataDir = mkdtempSync(join(tmpdir(), "keywheel-demo-"));
  const clear = (): void => rmSync(dataDir, { recursive: true, force: true });
  // Also where a fault ends the process.
  process.once("exit", clear);
  const provider = await startDemoProvider();
  try {
    const gateway = await startOwnGateway(dataDir, terminal);
    try {
      // From here on: what the start took is not the story's.
      const end =
        given === undefined ? interruption : AbortSignal.any([interruption, AbortSignal.timeout(given * 1000)]);
      await play({ gateway, provider, lengthMs, terminal, end, json, opens: flags["open"] !== false });
    } finally {
      await gateway.stop({ graceMs: 200, controlMs: 200 });
    }
  } finally {
    await provider.close();
    clear();
  }
}

function onWishToStop(): AbortSignal {
  const interruption = new AbortController();
  // SIGHUP too: nobody looks on any longer once the terminal is closed.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interruption.abort());
  return interruption.signal;
}

/** Nothing of the person's own set-up counts here: neither variables nor databases nor keys. */
async function startOwnGateway(dataDir: string, terminal: Terminal): Promise<Gateway> {
  const options = readStartOptions({ dataDir, port: 0, logLevel: "error" }, {});
  const redactor = new Redactor();
  const log = openLog({ ...options, redactor, environment: terminal.environment });
  const { startGateway } = await import("../serve/gateway.ts");
  return startGateway({ options, environment: {}, log, redactor });
}

interface Play {
  readonly gateway: Gateway;
  readonly provider: DemoProvider;
  readonly lengthMs: number;
  readonly terminal: Terminal;
  readonly end: AbortSignal;
  readonly opens: boolean;
  readonly json: boolean;
}

async function play({ gateway, provider, lengthMs, terminal, end, opens, json }: Play): Promise<void> {
  const { colors } = terminal;
  const out = (text: string, facts: object): void => terminal.out(json ? `${JSON.stringify(facts)}\n` : text);
  const api = new ApiClient(createHttpTransport({ url: gateway.url, token: gateway.madeToken?.reveal() ?? "" }));
  const keys = await preparePool(api, provider, lengthMs);
  const signIn = gateway.createSignInLink();
  out(introduction(gateway.url, signIn, colors), {
    url: gateway.url,
    sign_in: signIn,
    base_url: `${gateway.url}/${slug}/v1`,
  });
  if (opens) openBrowser(gateway.createSignInLink(), terminal);

  const startedAt = performance.now();
  const say = (sentence: string): void => {
    const sinceMs = Math.floor(performance.now() - startedAt);
    const at = `${Math.floor(sinceMs / 1000)} s`;
    out(`${colors.dim(at.padStart(6))}  ${sentence}\n`, { at_ms: sinceMs, happened: sentence });
  };
  const tally: Tally = { answered: 0, failed: 0 };
  const stage = createStage({ api, provider, keys, tally, lengthMs, end, url: `${gateway.url}/${slug}` });
  await Promise.all([
    untilAborted(end, () => watch(api, end, say)),
    untilAborted(end, () => tell(stage, lengthMs, end, say)),
  ]);
  await stage.ended();
  out(`\n${stage.count()} The demo is over, and nothing of it is left.\nWith your own keys: keywheel start\n`, {
    ended: true,
    answered: tally.answered,
    failed: tally.failed,
  });
}

function introduction(url: string, signIn: string, { bold, dim }: Terminal["colors"]): string {
  const lines = [
    `${bold("Keywheel demo")}: a gateway of its own, a provider made up for it, and four keys that are good for nothing else.`,
    "",
    `  Sign in   ${signIn}`,
    `            ${dim("once, within 15 minutes")}`,
    `  Look at   ${bold("Provider Management › Demo")}  the wheel, its next turns, and how each key stands`,
    `            ${bold("Sessions")}                    which chat is with which key`,
    `            ${bold("Activity")}                    every request, the keys it tried, and why`,
    `  Try it    ${bold("Chat")}, or ${url}/${slug}/v1 as the base URL of a program`,
    `            ${dim("Ctrl-C ends it and removes everything.")}`,
    "",
  ];
  return `${lines.join("\n")}\n`;
}

async function tell(stage: Stage, lengthMs: number, end: AbortSignal, say: (sentence: string) => void): Promise<void> {
  for (let round = 1; !end.aborted; round++) {
    const beganAt = performance.now();
    const until = (part: number): Promise<void> =>
      wait(Math.max(0, beganAt + part * lengthMs - performance.now()), undefined, { signal: end });
    for (const step of storyOf(lengthMs, round)) {
      await until(step.at);
      say(step.say(stage));
      await orGone(Promise.resolve(step.act?.(stage)), undefined);
    }
    await until(1);
  }
}

/** Says what the gateway shows to have changed. */
async function watch(api: ApiClient, end: AbortSignal, say: (sentence: string) => void): Promise<void> {
  let before = await sceneOf(api);
  while (!end.aborted) {
    await wait(lookMs, undefined, { signal: end });
    const after = await orGone(sceneOf(api), before);
    for (const sentence of changesBetween(before, after, Date.now())) say(sentence);
    before = remembering(before, after);
  }
}

/** Whoever has the pages before them may remove the provider, or make the admin token anew: the demo goes on. */
async function orGone<T>(wanted: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await wanted;
  } catch (error) {
    if (error instanceof Refusal) return otherwise;
    throw error;
  }
}

async function sceneOf(api: ApiClient): Promise<Scene> {
  const { data: keys } = await api.call<List<KeyOnTheWire>>("GET", `/providers/${slug}/keys`);
  const { data: sessions } = await api.call<SessionList>("GET", `/sessions?provider=${slug}`);
  return { keys, sessions };
}

async function untilAborted(end: AbortSignal, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!end.aborted) throw error;
  }
}
