import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { eventually, poolOf, type PooledProvider, storedKey } from "../pooled-provider.ts";
import { aFaultyDisk, type DiskState } from "./faulty-disk.ts";

interface Outage {
  readonly name: string;
  /** What is said of it, and what to do. */
  readonly says: RegExp;
  readonly advises: RegExp;
  /** Changes asked for meanwhile; default 20. */
  readonly writes?: number;
  begin(gateway: RunningGateway): () => void;
}

interface Bench extends AsyncDisposable {
  readonly gateway: RunningGateway;
  readonly outages: readonly Outage[];
}

async function aBench(): Promise<Bench> {
  const disk = aFaultyDisk();
  const gateway = await runGateway({ env: disk.env });
  const whileDiskIs = (state: DiskState) => () => {
    disk.set(state);
    return () => disk.set("well");
  };
  return {
    gateway,
    outages: [
      {
        name: "is on a full disk",
        says: /^The disk that holds .*keywheel\.db is full$/,
        advises: /Free some space/,
        writes: 200,
        begin: whileDiskIs("full"),
      },
      {
        name: "may not be written",
        says: /keywheel\.db cannot be written$/,
        advises: /writable for this user/,
        begin: whileDiskIs("read-only"),
      },
      {
        name: "is locked by another process",
        says: /keywheel\.db is locked by another process$/,
        advises: /End whatever else has the database open/,
        begin: lock,
      },
    ],
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      disk[Symbol.dispose]();
    },
  };
}

function lock({ databaseFile }: RunningGateway): () => void {
  const other = new DatabaseSync(databaseFile);
  other.exec("PRAGMA busy_timeout = 5000");
  other.exec("BEGIN EXCLUSIVE");
  return () => {
    other.exec("ROLLBACK");
    other.close();
  };
}

const names = ["is on a full disk", "may not be written", "is locked by another process"];

function pick({ outages }: Bench, name: string): Outage {
  const outage = outages.find((one) => one.name === name);
  if (outage === undefined) throw new Error(`there is no outage that ${name}`);
  return outage;
}

/** Many tokens: what a full disk has no room for is more than fits into the pages that are still free in the file. */
async function addTokens(
  gateway: RunningGateway,
  count: number,
): Promise<readonly { status: number; body: { detail?: string } }[]> {
  const answers = Array.from({ length: count }, (_, at) =>
    gateway.apiResponse("POST", "/tokens", { name: `t${at}`.padEnd(200, "x") }),
  );
  return Promise.all(
    answers.map(async (answer) => {
      const { status } = await answer;
      return { status, body: (await (await answer).json()) as { detail?: string } };
    }),
  );
}

const countTokens = async (gateway: RunningGateway): Promise<number> =>
  (await gateway.api<{ data: unknown[] }>("GET", "/tokens")).data.length;

async function statusesOver(pool: PooledProvider, letter: string): Promise<readonly number[]> {
  pool.provider.forKey(pool.valueOf(letter)).always(reply.json(401, {}, { error: { message: "Incorrect API key" } }));
  return Promise.all(Array.from({ length: 12 }, async () => (await pool.send()).status));
}

const readiness = async (gateway: RunningGateway): Promise<string> => (await fetch(`${gateway.url}/readyz`)).text();

describe.each(names)("while the database %s", (name) => {
  it("traffic goes on, writes are refused whole, it is said everywhere, and what was learnt lands in the end", async () => {
    await using bench = await aBench();
    const { gateway } = bench;
    const outage = pick(bench, name);
    await using pool = await poolOf(gateway, { weights: [1, 1, 1, 1] });
    const end = outage.begin(gateway);

    const [statuses, answers] = await Promise.all([statusesOver(pool, "A"), addTokens(gateway, outage.writes ?? 20)]);
    const refused = answers.filter(({ status }) => status !== 201);
    const inTrouble = await eventually(
      async () => readiness(gateway),
      (text) => text.includes("cannot be written"),
      { what: "/readyz", timeoutMs: 15_000 },
    );
    const { store } = await gateway.api<{ store: { trouble: string; hint: string } }>("GET", "/status");
    const { data: notices } = await eventually(
      () => gateway.api<{ data: { code: string; resolved_at: string | null }[] }>("GET", "/notices"),
      ({ data }) => data.some(({ code }) => code === "store_unavailable"),
      { what: "the notice" },
    );
    const heldTokens = await countTokens(gateway);
    end();
    await eventually(
      async () => readiness(gateway),
      (text) => text.includes('"ready"'),
      { what: "the end of it", timeoutMs: 20_000 },
    );
    await eventually(
      () => storedKey(gateway, pool.keys[0]?.id ?? "").enabled,
      (enabled) => enabled === 0,
      { what: "the refusal to be stored", timeoutMs: 15_000 },
    );
    await gateway.kill("SIGKILL");
    await gateway.restart();

    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
    expect(refused[0]?.body.detail).toMatch(outage.says);
    expect(inTrouble).toBe('{"status":"not_ready","detail":"the database cannot be written"}');
    expect([store.trouble, store.hint]).toEqual([
      expect.stringMatching(outage.says),
      expect.stringMatching(outage.advises),
    ]);
    expect(notices.find(({ code }) => code === "store_unavailable")?.resolved_at).toBeNull();
    expect(await countTokens(gateway)).toBe(heldTokens);
    expect(heldTokens).toBe(answers.length - refused.length);
    expect((await pool.key("A")).status).toBe("disabled");
  }, 90_000);
});

describe("a start", () => {
  it.each(["may not be written", "is locked by another process"])(
    "while the database %s is refused with what to do, and goes well afterwards",
    async (name) => {
      await using bench = await aBench();
      const { gateway } = bench;
      const outage = pick(bench, name);
      await using pool = await poolOf(gateway, { weights: [1, 1] });
      await gateway.stop();
      const end = outage.begin(gateway);

      const start = await gateway.restart().then(() => "started", String);
      end();
      await gateway.restart();

      expect(start.split("\n").slice(-3).join(" ")).toMatch(outage.advises);
      expect((await gateway.keys(pool.record)).map(({ label }) => label)).toEqual(["A", "B"]);
    },
    60_000,
  );

  it("on a full disk serves, as long as there is room for what a start writes", async () => {
    await using bench = await aBench();
    const { gateway } = bench;
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    await gateway.stop();
    const end = pick(bench, "is on a full disk").begin(gateway);

    await gateway.restart();
    const answer = await pool.send();
    end();

    expect(answer.status).toBe(200);
    expect((await gateway.keys(pool.record)).map(({ label }) => label)).toEqual(["A", "B"]);
  });
});

describe("a process that ends while the database cannot be written", () => {
  it.each(["is on a full disk", "may not be written"])(
    "because it %s stops in time",
    async (name) => {
      await using bench = await aBench();
      const { gateway } = bench;
      await using pool = await poolOf(gateway, { weights: [1, 1] });
      const end = pick(bench, name).begin(gateway);
      await statusesOver(pool, "A");
      await sleep(600);
      const stopped = await gateway.stop(15_000);
      end();

      expect(stopped).toBe(0);
    },
    60_000,
  );
});
