import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  anthropicError,
  geminiError,
  openAiError,
  type Reply,
  runGateway,
  type RunningGateway,
  startScriptedProvider,
} from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { clients } from "../../scripts/lib/side-install.mjs";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";
import { aHome, runCommand } from "../program/run-command.ts";
import { type AnsweringKind, saying } from "./answers.ts";
import { aReader, startsProgram, stepsOf } from "./page.ts";
import { type ClientProgram, programs } from "./programs.ts";
import { runProgram } from "./run-program.ts";

/** Long enough for several pieces, with signs that are more than a byte, and no mark-up that a program would dress up. */
const answer = "Hello from the wheel: 안녕하세요, grüß dich, 🗝 and the last word is tamarisk.";

const limited: Readonly<Record<AnsweringKind, Reply>> = {
  anthropic: anthropicError(429, "rate_limit_error", "This request would exceed your organization's rate limit."),
  openai: openAiError(429, {
    message: "Rate limit reached for requests",
    type: "requests",
    code: "rate_limit_exceeded",
  }),
  gemini: geminiError(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota."),
};

/** What a request came to, as the pages show it under "Activity". */
interface Shown {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly session_id: string | null;
  readonly label: string | null;
  readonly ending: string;
  readonly attempts: readonly { readonly why: string; readonly label: string | null; readonly outcome: string }[];
}

/** A person's home with a client in it that `keywheel connect` has set up, and a pool of three keys behind it. */
interface Desk extends AsyncDisposable {
  readonly pool: PooledProvider;
  run(words: readonly string[]): Promise<string>;
  /** The requests since the last call that carried the conversation, oldest first. */
  conversed(): Promise<readonly Shown[]>;
  /** All of them, oldest first. */
  shown(): Promise<readonly Shown[]>;
}

async function deskWith(program: ClientProgram, gateway: RunningGateway): Promise<Desk> {
  const { home, [Symbol.dispose]: remove } = aHome();
  const folder = join(home, "work");
  mkdirSync(folder);
  const pool = await poolOf(gateway, { kind: program.kind, weights: [1, 1, 1] });
  pool.provider.on({ method: "POST" }).always(saying(program.kind, answer));
  const words = ["connect", program.id, "--provider", pool.record.slug, "--write"];
  const { code, stderr } = await runCommand(words, { home, env: { KEYWHEEL_DATA_DIR: gateway.dataDir } });
  expect([code, stderr.replace(/^Note: .*\n/gm, "")]).toEqual([0, ""]);
  let seen = 0;
  const shown = async (): Promise<readonly Shown[]> => {
    const { data } = await gateway.api<{ data: Shown[] }>("GET", `/requests?provider=${pool.record.slug}&limit=1000`);
    return data.toReversed();
  };
  return {
    pool,
    run: (line) => runProgram(line, { home, folder, env: program.environment }),
    shown,
    async conversed() {
      const all = (await shown()).filter(({ method, path }) => method === "POST" && program.conversing.test(path));
      const fresh = all.slice(seen);
      seen = all.length;
      return fresh;
    },
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      remove();
    },
  };
}

describe.each(programs.map((program) => [program.id, program] as const))("%s", { timeout: 400_000 }, (_, program) => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await runGateway();
    return () => gateway[Symbol.asyncDispose]();
  });

  it("works with a key that is limited and one that is refused", async () => {
    await using desk = await deskWith(program, gateway);
    const { pool } = desk;
    pool.provider.forKey(pool.valueOf("A")).always(limited[program.kind]);
    pool.provider.revoke(pool.valueOf("B"));

    const printed = await desk.run(program.ask("Say hello"));

    expect(printed).toContain(answer);
    const requests = await desk.shown();
    const outcomes = requests.flatMap(({ attempts }) => attempts.map(({ label, outcome }) => `${label}: ${outcome}`));
    expect(outcomes).toContainEqual(expect.stringMatching(/^A: (model_)?rate_limited$/));
    expect(outcomes).toContain("B: key_refused");
    for (const request of await desk.conversed())
      expect(request).toMatchObject({ status: 200, label: "C", ending: "completed" });
    expect((await pool.key("A")).status).toBe("cooling_down");
    expect((await pool.key("B")).status).toBe("disabled");
    expect((await pool.key("C")).status).toBe("available");
  });

  it("keeps the turns of a session on one key, and its sessions apart", async () => {
    await using desk = await deskWith(program, gateway);

    const turns: (readonly Shown[])[] = [];
    for (const words of [program.ask("One"), program.goOn("Two"), program.ask("Three"), program.goOn("Four")]) {
      expect(await desk.run(words)).toContain(answer);
      turns.push(await desk.conversed());
    }

    const keys = turns.map((requests) => [...new Set(requests.map(({ label }) => label))].join());
    expect(keys.map((key) => key.length)).toEqual([1, 1, 1, 1]);
    expect([keys[1], keys[3]]).toEqual([keys[0], keys[2]]);
    const sessions = turns.map((requests) => [...new Set(requests.map(({ session_id: id }) => id))].join());
    const why = turns.map((requests) => requests[0]?.attempts[0]?.why);
    const { data } = await gateway.api<{ data: { id: string; carrier: string }[] }>(
      "GET",
      `/sessions?provider=${desk.pool.record.slug}`,
    );
    const bound = data.map(({ id, carrier }) => `${carrier} ${id}`).sort();
    expect({ why, sessions, bound }).toEqual(recognised(program, sessions));
  });
});

/** The packages that are installed here, at their versions. */
const { dependencies } = JSON.parse(readFileSync(join(clients, "package.json"), "utf8")) as {
  readonly dependencies: Readonly<Record<string, string>>;
};

it.each(programs.map((program) => [program.id, program] as const))(
  "%s works for somebody who does what its page says",
  { timeout: 400_000 },
  async (id, program) => {
    using place = aHome();
    await using gateway = await runGateway();
    const keys = ["A", "B"].map((letter) => `sk-test-page-${letter}-0123456789abcdef`);
    await using provider = await startScriptedProvider({ kind: program.kind, keys });
    provider.on({ method: "POST" }).always(saying(program.kind, answer));
    const reader = aReader({ ...place, gateway, provider, keys });

    const printed: string[] = [];
    for (const step of stepsOf(id)) printed.push(await reader.does(step));

    const [command = ""] = program.ask("");
    const asked = printed.filter((_, at) => startsProgram(stepsOf(id)[at], command));
    expect(asked).not.toEqual([]);
    for (const text of asked) expect(text).toContain(answer);
    expect(Object.keys(dependencies)).toEqual(expect.arrayContaining([...reader.installed]));
    expect(reader.installed).toHaveLength(1);
    expect(provider.faults).toEqual([]);
  },
);

/** How two sessions of two turns each are recognised: by what the program calls them, else by what was said. */
function recognised({ carrier }: ClientProgram, [first = "", , second = ""]: readonly string[]): object {
  if (carrier === undefined)
    return { why: ["turn", "continuation", "turn", "continuation"], sessions: ["", "", "", ""], bound: [] };
  const bound = [...new Set([first, second])].map((id) => `${carrier} ${id}`).sort();
  expect([first.startsWith("ses_"), second.startsWith("ses_"), bound.length]).toEqual([true, true, 2]);
  return { why: expect.any(Array) as unknown, sessions: [first, first, second, second], bound };
}
