import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  type KeyView,
  type ProviderView,
  reply,
  runGateway,
  type RunningGateway,
  startScriptedProvider,
} from "@keywheel/testkit";
import type { Browser } from "playwright-core";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { launchBrowser, openSignedIn } from "../pages/browser.ts";
import { eventually, fakeKey, poolOf, sharesOf, storedKey } from "../pooled-provider.ts";
import { aWallClock } from "./clock.ts";

const folder = mkdtempSync(join(tmpdir(), "keywheel-j-"));
const envFile = join(folder, "keys.env");
const variables = {
  CASE_89_BROKEN: "sk-test-89-first-0123456789\nsk-test-89-second-0123456789",
  CASE_92_EMPTY: "",
  CASE_92_QUOTED: '"sk-test-92-quoted-0123456789abcdef"',
  CASE_92_LOWER: "sk-test-92-upper-0123456789abcdef",
  CASE_92_LITERAL: "$CASE_92_LOWER",
  // Not used here, as there is no PostgreSQL.
  PGPASSWORD: "invented-92-0123456789abcdef",
};

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  writeFileSync(envFile, "CASE_92_FROM_FILE=sk-test-92-file-0123456789abcdef\n");
  [gateway, browser] = await Promise.all([
    runGateway({ env: variables, flags: ["--env-file", envFile, "--log-level", "debug"] }),
    launchBrowser(),
  ]);
  return async () => {
    await browser.close();
    await gateway[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  };
});

interface ImportResult {
  readonly added: readonly KeyView[];
  readonly skipped: readonly { readonly line: number; readonly code: string; readonly reason: string }[];
  readonly understood?: readonly object[];
}

interface Problem {
  readonly detail?: string;
  readonly errors: readonly { readonly path: string; readonly message: string }[];
}

async function refusalOf(method: string, path: string, body: object): Promise<readonly [number, string, string]> {
  const response = await gateway.apiResponse(method, path, body);
  const { errors } = (await response.json()) as Problem;
  return [response.status, errors[0]?.path ?? "", errors[0]?.message ?? ""];
}

describe("J. configuration, storage, pages", () => {
  const [one, two] = ["sk-test-88-first-0123456789", "sk-test-88-second-0123456789"];
  it.each([",", ", ", "\n", "\r\n", " ", "\t", ";\n"])(
    "case 88: a list joined by %j is never taken for one key, at any entrance",
    async (joint) => {
      await using pool = await poolOf(gateway, { weights: [1] });
      const list = `${one}${joint}${two}`;
      const { id, slug } = pool.record;

      const refusals = [
        await refusalOf("POST", `/providers/${id}/keys`, { api_key: list }),
        await refusalOf("PATCH", `/keys/${pool.keys[0]?.id}`, { api_key: list }),
        await refusalOf("PATCH", `/providers/${id}`, { api_key: list }),
        await refusalOf("POST", "/providers", {
          kind: "openai",
          slug: `${slug}-other`,
          base_url: pool.provider.baseUrl,
          api_key: list,
        }),
      ];

      for (const [status, path, message] of refusals) {
        expect([status, path]).toEqual([422, "api_key"]);
        expect(message).toMatch(/comma|line break|white space/);
        expect(message).not.toContain("sk-test");
      }
      expect(await pool.turns(2)).toBe("AA");
    },
  );

  it.each([
    [`${one},${two}`, 2, 0],
    [`${one}\n${two}`, 2, 0],
    [`${one}\r\n\r\n  ${two}  \n`, 2, 0],
    [`${one} ${two}`, 0, 1],
    [`${one},${one}\n${two}`, 2, 1],
  ])("case 88: the import of %j adds %i and skips %i, as its preview says", async (text, added, skipped) => {
    await using pool = await poolOf(gateway, { weights: [], provider: { keys: [one, two] } });
    const path = `/providers/${pool.record.id}/keys/import`;

    const preview = await gateway.api<ImportResult>("POST", path, { text, dry_run: true });
    const before = await gateway.keys(pool.record);
    const result = await gateway.api<ImportResult>("POST", path, { text });

    expect([preview.understood?.length, preview.skipped.length, before.length]).toEqual([added, skipped, 0]);
    expect([result.added.length, result.skipped.length]).toEqual([added, skipped]);
    expect(await pool.turns(added)).toBe("AB".slice(0, added));
  });

  const clean = "sk-test-89-clean-0123456789abcdef";
  it.each([
    ["spaces", `  ${clean}  `],
    ["a line end of Windows", `${clean}\r\n`],
    ["a byte order mark", `\ufeff${clean}`],
    ["a no-break space", `${clean}\u00a0`],
    ["zero-width characters", `\u200b${clean}\u200d\u2060`],
  ])("case 89: %s around a key are dropped", async (_, typed) => {
    await using pool = await poolOf(gateway, { weights: [], provider: { keys: [clean] } });

    await gateway.addKeys(pool.record, [typed]);

    expect(await pool.turns(1)).toBe("A");
  });

  it.each([
    ["a line end", "sk-test-89-inside\n0123456789", 18],
    ["a no-break space", "sk-test-89-inside\u00a00123456789", 18],
    ["a zero-width space", "sk-test-89-inside\u200b0123456789", 18],
    ["a byte order mark", "sk-test-89\ufeff0123456789", 11],
    ["a nought", "sk-test-89\u00000123456789", 11],
    ["a letter that only looks Latin", "sk-t\u0435st-89-0123456789", 5],
    ["an emoji, behind dropped spaces", "  sk-test\u{1f511}0123456789", 10],
  ])("case 89: %s inside is refused with its position, without the value", async (_, typed, position) => {
    await using pool = await poolOf(gateway, { weights: [1] });

    const refusal = await refusalOf("POST", `/providers/${pool.record.id}/keys`, { api_key: typed });

    expect(refusal).toEqual([422, "api_key", expect.stringContaining(`at position ${position}`)]);
    expect(refusal[2]).not.toMatch(/sk-t|0123456789/);
  });

  it("case 89: an unsendable value in the environment is that key's own fault; the others serve", async () => {
    await using pool = await poolOf(gateway, {
      keys: [{ api_key: "$CASE_89_BROKEN" }, { api_key: fakeKey(89, 1) }],
    });

    const turns = await pool.turns(3);
    const broken = await pool.key("A");

    expect(turns).toBe("BBB");
    expect(broken).toMatchObject({ status: "unresolved", enabled: true, api_key: "$CASE_89_BROKEN" });
    expect(broken.status_reason?.message).toContain("position 28");
    for (const part of variables.CASE_89_BROKEN.split("\n")) {
      expect(gateway.logs() + JSON.stringify(broken)).not.toContain(part);
    }
  });

  const masks = [
    "sk-abc123\u2022\u2022\u2022\u2022",
    "sk-\u20269f2c",
    "sk-...9f2c",
    "sk-abc****9f2c",
    "\u25cf".repeat(20),
  ];
  it.each(masks)("case 90: the masked value %j is refused as one, and nothing is stored or sent", async (masked) => {
    await using pool = await poolOf(gateway, { weights: [1] });

    const refusals = [
      await refusalOf("POST", `/providers/${pool.record.id}/keys`, { api_key: masked }),
      await refusalOf("PATCH", `/keys/${pool.keys[0]?.id}`, { api_key: masked }),
      await refusalOf("PATCH", `/providers/${pool.record.id}`, { api_key: masked }),
    ];

    expect(refusals).toEqual(
      refusals.map(() => [422, "api_key", "This looks like a masked value: paste the key itself"]),
    );
    expect(await gateway.keys(pool.record)).toEqual(pool.keys);
    expect(pool.provider.requests).toHaveLength(0);
  });

  it("case 90: the page says it beside the field, before anything is sent", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    await using session = await openSignedIn(browser, gateway, `/settings/providers/${pool.record.slug}`);
    const { page } = session;
    await page.getByRole("button", { name: "Add Key" }).click();
    const dialog = page.getByRole("dialog");

    await dialog.getByLabel("API Key").fill("sk-abc123\u2022\u2022\u2022\u2022");
    await dialog.getByRole("button", { name: "Confirm" }).click();

    await dialog.getByText(/masked/).waitFor();
    expect(await gateway.keys(pool.record)).toHaveLength(1);
  });

  it("case 91: what was read and is written back neither stores the mask nor clears the key", async () => {
    await using pool = await poolOf(gateway, { weights: [1], apiKey: "sk-test-91-own-0123456789abcdef" });
    const [key] = pool.keys;
    const provider = await gateway.api<ProviderView>("GET", `/providers/${pool.record.id}`);

    const [wholeKey, wholeProvider] = [
      await refusalOf("PATCH", `/keys/${key?.id}`, await pool.key("A")),
      await refusalOf("PATCH", `/providers/${pool.record.id}`, provider),
    ];
    const { api_key: _, ...rest } = await pool.key("A");
    await gateway.api("PATCH", `/keys/${key?.id}`, { ...rest, label: "changed", weight: 2 });
    const turns = await pool.turns(1);
    await gateway.api("DELETE", `/keys/${key?.id}`);

    expect([wholeKey[0], wholeKey[1], wholeProvider[0], wholeProvider[1]]).toEqual([422, "api_key", 422, "api_key"]);
    // The pool's key, then the provider-level one.
    expect(turns + (await pool.turns(1))).toBe("AB");
  });

  it.each(["null", '""', '"  "', "false"])("case 91: a key cannot be emptied with %s", async (nothing) => {
    await using pool = await poolOf(gateway, { weights: [1] });

    const [status] = await refusalOf("PATCH", `/keys/${pool.keys[0]?.id}`, { api_key: JSON.parse(nothing) as unknown });

    expect(status).toBe(422);
    expect(await pool.turns(1)).toBe("A");
  });

  it("case 91: a reference that was read may be written back", async () => {
    await using pool = await poolOf(gateway, {
      keys: [{ api_key: "$CASE_92_LOWER" }],
      provider: { keys: [variables.CASE_92_LOWER] },
    });

    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { ...(await pool.key("A")), label: "changed" });

    expect(await pool.key("A")).toMatchObject({ api_key: "$CASE_92_LOWER", label: "changed" });
    expect(await pool.turns(1)).toBe("A");
  });

  it("case 91: the forms of the pages change label, weight and name without touching the keys", async () => {
    await using pool = await poolOf(gateway, { weights: [1], apiKey: "sk-test-91-page-0123456789abcdef" });
    await using session = await openSignedIn(browser, gateway, `/settings/providers/${pool.record.slug}`);
    const { page } = session;

    await page.getByRole("button", { name: "Edit A" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByLabel("API Key").inputValue()).toBe("");
    await dialog.getByLabel("Label").fill("Renamed");
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("row").filter({ hasText: "Renamed" }).waitFor();
    await page.goto(`/ui/settings/providers/${pool.record.slug}?part=settings`);
    await page.getByLabel("Name").fill("Another name");
    await page.getByRole("button", { name: "Save" }).first().click();
    await page.getByText("Saved").first().waitFor();

    expect(await pool.turns(1)).toBe("A");
    await gateway.api("DELETE", `/keys/${pool.keys[0]?.id}`);
    expect(await pool.turns(1)).toBe("B");
  });

  it.each([
    ["is not set", "$CASE_92_MISSING"],
    ["is empty", "$CASE_92_EMPTY"],
    ["differs in case", "$Case_92_Lower"],
    ["holds a reference that nobody expanded", "$CASE_92_LITERAL"],
    ["is one of our own", "$KEYWHEEL_ADMIN_TOKEN"],
    ["is the password of the database", "$PGPASSWORD"],
  ])("case 92: a key whose variable %s is kept, told, passed over and never sent", async (_, reference) => {
    const other = fakeKey(92, 1);
    await using pool = await poolOf(gateway, {
      keys: [{ api_key: reference }, { api_key: other }],
      provider: { keys: ["unused", other] },
    });

    const turns = await pool.turns(3);

    expect(turns).toBe("BBB");
    const key = await pool.key("A");
    expect(key).toMatchObject({ api_key: reference, enabled: true, status: "unresolved", consecutive_failures: 0 });
    expect(key.status_reason?.message).toContain(reference.slice(1));
    const { providers } = await gateway.api<{ providers: { id: string; keys: object }[] }>("GET", "/status");
    expect(providers.find(({ id }) => id === pool.record.id)?.keys).toMatchObject({ available: 1, unresolved: 1 });
  });

  it("case 92: an empty variable alone is `no_usable_key`, and nothing is sent", async () => {
    await using pool = await poolOf(gateway, { keys: [{ api_key: "$CASE_92_EMPTY" }] });

    const response = await pool.send();

    expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([503, "no_usable_key"]);
    expect(pool.provider.requests).toHaveLength(0);
  });

  it("case 92: one pair of quotes around a value is dropped, and said", async () => {
    const value = variables.CASE_92_QUOTED.slice(1, -1);
    await using pool = await poolOf(gateway, {
      keys: [{ api_key: "$CASE_92_QUOTED" }],
      provider: { keys: [value] },
    });

    expect(await pool.turns(1)).toBe("A");
    await eventually(
      () => gateway.logs(),
      (logs) => /CASE_92_QUOTED[^\n]*quotes/.test(logs),
      { what: "the warning" },
    );
    expect(gateway.logs()).not.toContain(value);
  });

  it.each(["$", "${CASE_92_LOWER}", "$CASE_92_LOWER$CASE_92_EMPTY", "$1", "$A-B"])(
    "case 92: %s is refused with what to write instead",
    async (typed) => {
      await using pool = await poolOf(gateway, { weights: [] });

      const refusal = await refusalOf("POST", `/providers/${pool.record.id}/keys`, { api_key: typed });

      expect(refusal).toEqual([422, "api_key", expect.stringContaining("`$NAME`")]);
    },
  );

  it("case 92: a variable of the env file takes effect when the file changes, without a restart", async () => {
    const later = "sk-test-92-later-0123456789abcdef";
    await using pool = await poolOf(gateway, {
      keys: [{ api_key: "$CASE_92_FROM_FILE" }, { api_key: "$CASE_92_LATER" }],
      provider: { keys: ["sk-test-92-file-0123456789abcdef", later] },
    });
    const before = await pool.turns(2);

    writeFileSync(envFile, `CASE_92_FROM_FILE=sk-test-92-file-0123456789abcdef\nCASE_92_LATER='${later}'\n`);
    await pool.becomes("B", "available");

    expect([before, sharesOf(await pool.turns(2))]).toEqual(["AA", "AB"]);
    expect(JSON.stringify(await gateway.keys(pool.record))).not.toContain(later);
  });

  it.each([
    "AQ.Ab8RN6test0123456789",
    "zz!never(heard)of/it+0123456789==",
    "0",
    "key:with:colons@and%signs",
    "x".repeat(4096),
  ])("case 94: a key of a format that nobody has heard of is added and sent as it is: %s", async (api_key) => {
    await using pool = await poolOf(gateway, { keys: [{ api_key }] });

    expect(await pool.turns(1)).toBe("A");
  });

  it("case 95: a new value serves the next request; a running stream keeps the old one", async () => {
    const [old, fresh] = ["sk-test-95-old-0123456789abcdef", "sk-test-95-new-0123456789abcdef"];
    await using pool = await poolOf(gateway, { keys: [{ api_key: old }], provider: { keys: [old, fresh] } });
    const live = reply.live();
    pool.provider.on().next(live);
    const pending = pool.send({ stream: true });
    await live.send({ data: { choices: [{ delta: { content: "one" } }] } });
    const running = await pending;

    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { api_key: fresh });
    const next = await pool.turns(1);
    await live.send({ data: "[DONE]" });
    await live.end();

    expect([next, await running.text()]).toEqual(["B", expect.stringContaining("[DONE]")]);
  });

  it.each([
    ["cooldown", reply.status(429)],
    ["refusal", reply.json(401, {}, { error: { message: "Incorrect API key provided" } })],
  ])("case 95: a new value takes away count and %s of the old one", async (_, failure) => {
    const fresh = `sk-test-95-${randomBytes(12).toString("hex")}`;
    await using pool = await poolOf(gateway, { weights: [1], provider: { keys: [fakeKey(95, 0)] } });
    pool.provider.accept(pool.valueOf("A"));
    pool.provider.on().next(failure);
    await pool.turns(1);
    pool.provider.accept(fresh);

    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { api_key: fresh });

    expect(await pool.key("A")).toMatchObject({
      status: "available",
      enabled: true,
      consecutive_failures: 0,
      status_reason: null,
    });
    expect((await pool.send()).status).toBe(200);
  });

  it("case 95: stored keys go to another host only on a word of consent", async () => {
    await using pool = await poolOf(gateway, { weights: [1], apiKey: "sk-test-95-own-0123456789abcdef" });
    await using foreign = await startScriptedProvider({ keys: pool.values });
    const move = { base_url: foreign.baseUrl };

    const [status, path] = await refusalOf("PATCH", `/providers/${pool.record.id}`, move);
    await pool.turns(1);
    const test = await gateway.apiResponse("POST", `/keys/${pool.keys[0]?.id}/test`, move);
    await test.arrayBuffer();
    const meanwhile = foreign.requests.length;
    await gateway.api("PATCH", `/providers/${pool.record.id}`, { ...move, confirm_host_change: true });
    await (await pool.send()).arrayBuffer();

    expect([status, path, meanwhile]).toEqual([409, "base_url", 0]);
    expect(foreign.requests).toHaveLength(1);
  });

  it("case 96: a cooldown is as long after kill -9 as before; past its end it is over", async () => {
    using clock = aWallClock();
    await using own = await runGateway({ env: clock.env });
    await using pool = await poolOf(own, { weights: [1, 1] });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429, { "retry-after": "600" }));
    await pool.turns(1);
    const before = await pool.key("A");

    await own.kill("SIGKILL");
    clock.set(60_000);
    await own.restart();
    const soon = await pool.key("A");
    await own.kill("SIGKILL");
    clock.set(20 * 60_000);
    await own.restart();
    const late = await pool.key("A");

    expect(soon).toMatchObject({ status: "cooling_down", cooldown_until: before.cooldown_until });
    expect(late).toMatchObject({ status: "available", cooldown_until: null, consecutive_failures: 1 });
    expect(sharesOf(await pool.turns(2))).toBe("AB");
  });

  it("case 96: a deadline in the far future is taken up as the longest rest there is", async () => {
    await using own = await runGateway();
    await using pool = await poolOf(own, { weights: [1] });
    pool.provider.on().next(reply.status(429));
    await pool.turns(1);
    await own.stop();
    const database = new DatabaseSync(own.databaseFile);
    database.exec("update key_healths set cool_until = cool_until + 86400000");
    database.close();

    await own.restart();

    const { cooldown_until: until } = await pool.key("A");
    expect(Date.parse(until ?? "") - Date.now()).toBeLessThanOrEqual(900_000);
    expect(Date.parse(until ?? "") - Date.now()).toBeGreaterThan(0);
  });

  it("case 96: a damaged database is left as it is, and said: an empty pool in its place would be the worse lie", async () => {
    await using own = await runGateway();
    await poolOf(own).then((pool) => pool[Symbol.asyncDispose]());
    await own.stop();
    truncateSync(own.databaseFile, Math.floor(statSync(own.databaseFile).size / 2));
    const damaged = readFileSync(own.databaseFile);

    await expect(own.restart()).rejects.toThrow(/is damaged.*Put a backup in its place/s);

    expect(readFileSync(own.databaseFile).equals(damaged)).toBe(true);
  });

  it.each([
    ["set back by a day", -86_400_000],
    ["set back by a minute", -60_000],
  ])("case 97: a clock %s lengthens no cooldown", async (_, offsetMs) => {
    using clock = aWallClock();
    await using own = await runGateway({ env: clock.env });
    await using pool = await poolOf(own, {
      weights: [1, 1],
      settings: { cooldown: { base_ms: 3_000, cap_ms: 3_000 } },
    });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await pool.turns(1);

    clock.set(offsetMs);
    const resting = await pool.key("A");
    await pool.becomes("A", "available", 6_000);

    expect(resting.status).toBe("cooling_down");
    expect(sharesOf(await pool.turns(2))).toBe("AB");
  });

  it("case 97: a clock that is an hour on, as after a sleep, ends a cooldown", async () => {
    using clock = aWallClock();
    await using own = await runGateway({ env: clock.env });
    await using pool = await poolOf(own, { weights: [1] });
    pool.provider.on().next(reply.status(429));
    await pool.turns(1);

    clock.set(3_600_000);

    expect((await pool.key("A")).status).toBe("available");
    expect((await pool.send()).status).toBe(200);
  });

  it("case 98: a locked database fails no request, and what was to be written is written when it is free", async () => {
    await using own = await runGateway();
    await using pool = await poolOf(own, { weights: Array.from({ length: 26 }, () => 1) });
    const refused = pool.values.slice(0, 25);
    for (const value of refused) pool.provider.revoke(value);
    const other = new DatabaseSync(own.databaseFile);
    onTestFinished(() => other.close());
    other.exec("begin immediate");

    const calls = Array.from({ length: 100 }, () => pool.send());
    // Real time, because the lock is the database's own.
    const release = new Promise((resolve) => setTimeout(resolve, 3_000)).then(() => other.exec("rollback"));
    const statuses = await Promise.all(calls.map(async (call) => (await call).status));
    await release;

    expect(new Set(statuses)).toEqual(new Set([200]));
    const disabled = pool.keys.filter((key) => refused.includes(pool.values[pool.keys.indexOf(key)] ?? ""));
    await eventually(
      () => disabled.filter(({ id }) => storedKey(own, id).enabled === 1).length,
      (left) => left === 0,
      { what: "every refusal to be stored", timeoutMs: 15_000 },
    );
  });

  it("case 99: 40,000 keys are added, disabled and deleted in one call each", { timeout: 120_000 }, async () => {
    await using own = await runGateway();
    await using pool = await poolOf(own, { weights: [] });
    const path = `/providers/${pool.record.id}/keys`;
    const text = Array.from({ length: 40_000 }, (_, at) => `sk-test-99-${String(at).padStart(12, "0")}`).join("\n");

    const { added } = await own.api<ImportResult>("POST", `${path}/import`, { text });
    const disabled = await own.api<{ ids: string[] }>("POST", `${path}/bulk`, {
      action: "disable",
      ids: added.map(({ id }) => id),
    });
    const deleted = await own.api<{ ids: string[] }>("POST", `${path}/bulk`, {
      action: "delete",
      where: { status: "disabled" },
    });

    expect([added.length, disabled.ids.length, deleted.ids.length]).toEqual([40_000, 40_000, 40_000]);
    expect(await own.keys(pool.record)).toEqual([]);
  });

  it("case 99: a pick costs about as much among 10,000 keys as among ten", { timeout: 120_000 }, async () => {
    await using own = await runGateway();
    const timeOf = async (count: number): Promise<number> => {
      const values = Array.from({ length: count }, (_, at) => `sk-test-99-${count}-${String(at).padStart(8, "0")}`);
      await using pool = await poolOf(own, { weights: [], provider: { keys: values } });
      await own.api("POST", `/providers/${pool.record.id}/keys/import`, { text: values.join("\n") });
      await pool.turns(50);
      const startedAt = performance.now();
      await pool.turns(300);
      return performance.now() - startedAt;
    };

    const few = await timeOf(10);
    const many = await timeOf(10_000);

    // A pick that looked at every key would take a hundred times as long; the rest is the machine's own unrest.
    expect(many).toBeLessThan(few * 3 + 500);
  });

  it("case 100: values under another master key are a state of their own, never sent, and back with the right one", async () => {
    const [right, wrong] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
    await using own = await runGateway({ env: { KEYWHEEL_MASTER_KEY: right } });
    await using pool = await poolOf(own, { weights: [1, 1] });

    await own.restart({ env: { KEYWHEEL_MASTER_KEY: wrong } });
    const response = await pool.send();
    const keys = await own.keys(pool.record);
    await using session = await openSignedIn(browser, own, `/settings/providers/${pool.record.slug}`);
    await session.page.getByText("It was stored under another master key.").first().waitFor();
    await session.page.goto("/ui/");
    await session.page.getByText("Stored keys cannot be read").first().waitFor();
    const status = await own.api<{ master_key_ok: boolean }>("GET", "/status");

    expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([503, "no_usable_key"]);
    expect(pool.provider.requests).toHaveLength(0);
    expect(keys.map((key) => [key.status, key.enabled, key.status_reason?.code])).toEqual([
      ["unresolved", true, "undecryptable"],
      ["unresolved", true, "undecryptable"],
    ]);
    expect(status.master_key_ok).toBe(false);
    await own.restart({ env: { KEYWHEEL_MASTER_KEY: right } });
    expect(sharesOf(await pool.turns(2))).toBe("AB");
  });

  it("case 100: a lost master key is got over as the page says: delete what it sealed, and add it again", async () => {
    const [lost, fresh] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
    await using own = await runGateway({ env: { KEYWHEEL_MASTER_KEY: lost } });
    await using pool = await poolOf(own, { weights: [1] });
    await own.restart({ env: { KEYWHEEL_MASTER_KEY: fresh } });

    const mixed = await own.apiResponse("PATCH", `/keys/${pool.keys[0]?.id}`, { api_key: pool.valueOf("A") });
    await own.api("DELETE", `/keys/${pool.keys[0]?.id}`);
    await own.addKeys(pool.record, [pool.valueOf("A")]);
    const atOnce = await pool.turns(1);
    await own.restart();

    // Values under two master keys in one database would end in a part of them being unreadable for good.
    expect([mixed.status, await mixed.text()]).toEqual([503, expect.stringContaining("delete the keys")]);
    expect(atOnce + (await pool.turns(1))).toBe("AA");
  });

  it("case 100: a lost master key file is not replaced in silence", async () => {
    await using own = await runGateway();
    await using pool = await poolOf(own, { weights: [1] });
    const file = join(own.dataDir, "master.key");
    const mode = statSync(file).mode & 0o777;
    await own.stop();
    rmSync(file);

    await own.restart();
    const notice = await noticeOfGateway(own, "master_key_wrong");

    expect([mode, notice.message]).toEqual([0o600, expect.stringMatching(/master key/)]);
    expect((await pool.send()).status).toBe(503);
    expect(pool.provider.requests).toHaveLength(0);
  });

  it("case 101: the list of models comes by a key that can serve, whatever the others do", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    pool.provider.forKey(pool.valueOf("B")).next(reply.status(429));
    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { enabled: false });
    await pool.turns(1);
    pool.provider.forget();

    const list = await fetch(`${pool.baseUrl}/v1/models`);

    expect(list.status).toBe(200);
    expect(pool.provider.picks()).toBe("C");
  });
});

/** A notice about the gateway as a whole. */
async function noticeOfGateway(own: RunningGateway, code: string): Promise<{ readonly message: string }> {
  const { data } = await own.api<{ data: { code: string; message: string }[] }>("GET", "/notices");
  const found = data.find((notice) => notice.code === code);
  if (found === undefined) throw new Error(`There is no notice ${code} among ${JSON.stringify(data)}`);
  return found;
}
