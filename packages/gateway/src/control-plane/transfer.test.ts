import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ExportDocument } from "../contract/transfer.ts";
import { type ControlBench, openControlBench } from "./control-plane.test-bench.ts";

let from: ControlBench;
let to: ControlBench;
/** What `from` exports. Made once: each derivation of a key takes its time and 128 MiB. */
let sealed: ExportDocument;
let masked: ExportDocument;
beforeAll(async () => {
  from = await openControlBench({ variables: {} });
  to = await openControlBench({ variables: {} });
  await fill(from);
  sealed = await exported(from, { passphrase });
  masked = await exported(from, {});
}, 60_000);
beforeEach(() => to.clean());
afterAll(() => Promise.all([from.close(), to.close()]));

const passphrase = "a long and quiet passphrase";
const values = ["sk-first-Q7xWm2Lr9TzKp4Vb", "sk-second-Zt5RyN8cHj3PwE6d", "sk-own-Bv1XsG9kLf7MqA2u"];

async function fill(bench: ControlBench): Promise<void> {
  await bench.addProvider({
    preset: "openai",
    slug: "openai",
    api_key: values[2],
    settings: { cooldown: { base_ms: 30_000 } },
  });
  await bench.addKey("openai", { api_key: values[0], label: "main", weight: 3, order: 2 });
  await bench.addKey("openai", { api_key: values[1], enabled: false, order: 1 });
  await bench.addKey("openai", { api_key: "$OPENAI_KEY_1", label: "by reference", order: 3 });
  await bench.addProvider({ name: "mine", slug: "mine", base_url: "http://10.0.0.5:8000/v1", preset: null });
}

async function exported(bench: ControlBench, body: object): Promise<ExportDocument> {
  const answer = await bench.call("POST", "/api/export", body);
  expect(answer.status).toBe(200);
  return answer.body as ExportDocument;
}

/** What of the configuration people see, without ids and times. */
async function shown(bench: ControlBench) {
  const { data } = (await bench.call("GET", "/api/providers")).body;
  return await Promise.all(
    data.map(async ({ id, created_at: _created, updated_at: _updated, ...provider }: Record<string, unknown>) => {
      const { body } = await bench.call("GET", `/api/providers/${String(id)}/keys`);
      const keys = body.data.map((key: Record<string, unknown>) => {
        const { api_key, label, weight, enabled, order, status } = key;
        return { api_key, label, weight, enabled, order, status };
      });
      return { ...provider, keys };
    }),
  );
}

describe("an export", () => {
  it("holds providers, keys and settings; references as they stand, values masked, no id and no secret", async () => {
    const document = masked;

    expect(document).toEqual({
      format: "keywheel-export",
      version: 1,
      exported_at: expect.stringMatching(/^\d{4}-/),
      providers: [
        {
          slug: "openai",
          name: "OpenAI",
          kind: "openai",
          preset: "openai",
          base_url: "http://127.0.0.1:9/v1",
          enabled: true,
          settings: { cooldown: { base_ms: 30_000 } },
          api_key: { masked: "sk-…qA2u" },
          keys: [
            { api_key: { masked: "sk-…wE6d" }, label: "", weight: 1, enabled: false, order: 1 },
            { api_key: { masked: "sk-…p4Vb" }, label: "main", weight: 3, enabled: true, order: 2 },
            { api_key: "$OPENAI_KEY_1", label: "by reference", weight: 1, enabled: true, order: 3 },
          ],
        },
        expect.objectContaining({ slug: "mine", preset: null, api_key: null, keys: [] }),
      ],
      secrets: null,
    });
  });

  it("holds no piece of a value, with a passphrase or without", async () => {
    const texts = [sealed, masked].map((document) => JSON.stringify(document));

    const pieces = values.flatMap((value) =>
      Array.from({ length: value.length - 11 }, (_, at) => value.slice(at, at + 12)),
    );
    expect(pieces.filter((piece) => texts.some((text) => text.includes(piece)))).toEqual([]);
    expect(texts.join()).not.toContain(passphrase);
  });

  it("holds values for nobody who has only a browser's cookie", async () => {
    const cookie = `${from.auth.browsers.cookieName}=${from.auth.browsers.create()}`;
    const headers = { cookie, "content-type": "application/json" };

    const refused = await from.call("POST", "/api/export", { passphrase }, headers);
    const answered = await from.call("POST", "/api/export", {}, headers);

    expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
    expect([answered.status, answered.body.secrets]).toEqual([200, null]);
  });

  it("asks for a passphrase that is none of the shortest, and does not repeat it", async () => {
    const { status, body } = await from.call("POST", "/api/export", { passphrase: "hunter2" });

    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain("8 characters or more");
    expect(JSON.stringify(body)).not.toContain("hunter2");
  });
});

describe("an import", { timeout: 60_000 }, () => {
  it("makes of an empty gateway what the other one was, the values included", async () => {
    const document = sealed;

    const { status, body } = await to.call("POST", "/api/import", { document, passphrase });

    expect(status).toBe(200);
    expect(body).toMatchObject({ applied: true, providers: { added: 2 }, keys: { added: 3, missing: 0 } });
    expect(await shown(to)).toEqual(await shown(from));
    const revealed = [...to.catalog.secrets()].map((secret) => secret.reveal());
    expect(revealed.toSorted()).toEqual(values.toSorted());
    await to.restart();
    expect(await shown(to)).toEqual(await shown(from));
    expect(to.told).toEqual(expect.arrayContaining(["provider-created", "key-created"]));
  });

  it("finds all of it unchanged the second time, and where it came from", async () => {
    const document = sealed;
    await to.call("POST", "/api/import", { document, passphrase });

    for (const bench of [to, from]) {
      const { body } = await bench.call("POST", "/api/import", { document, passphrase });
      expect(body).toEqual({
        applied: true,
        providers: { added: 0, unchanged: 2, conflicts: 0, missing: 0 },
        keys: { added: 0, unchanged: 3, conflicts: 0, missing: 0 },
        entries: [],
      });
    }
  });

  it("changes nothing in a dry run, and tells the same", async () => {
    const document = sealed;

    const { body } = await to.call("POST", "/api/import", { document, passphrase, dry_run: true });

    expect(body).toMatchObject({ applied: false, providers: { added: 2 }, keys: { added: 3 } });
    expect(body.entries).toContainEqual({
      outcome: "added",
      provider: "openai",
      key: { api_key: "sk-…p4Vb", label: "main" },
      reason: null,
    });
    expect(await shown(to)).toEqual([]);
  });

  it("says which values are missing without the passphrase, and takes the rest", async () => {
    const document = sealed;

    const { body } = await to.call("POST", "/api/import", { document });

    expect(body).toMatchObject({ providers: { added: 2, missing: 1 }, keys: { added: 1, missing: 2 } });
    expect(body.entries.filter(({ outcome }: { outcome: string }) => outcome === "missing")).toEqual([
      expect.objectContaining({ provider: "openai", key: null }),
      { outcome: "missing", provider: "openai", key: { api_key: "sk-…wE6d", label: "" }, reason: expect.any(String) },
      {
        outcome: "missing",
        provider: "openai",
        key: { api_key: "sk-…p4Vb", label: "main" },
        reason: expect.any(String),
      },
    ]);
    // What stayed behind was entered by hand since: it is not missed again.
    await to.addKey("openai", { api_key: values[0], label: "main", weight: 3, order: 2 });
    const again = await to.call("POST", "/api/import", { document });
    expect(again.body.keys).toMatchObject({ unchanged: 2, missing: 1 });
  });

  it("imports nothing where something differs, and says what", async () => {
    const document = sealed;
    await to.addProvider({ preset: "openai", slug: "openai", api_key: values[2] });
    await to.addKey("openai", { api_key: values[0], label: "main", weight: 1, order: 2 });

    const { status, body } = await to.call("POST", "/api/import", { document, passphrase });

    expect([status, body.code]).toEqual([409, "conflict"]);
    expect(body.errors.map(({ message }: { message: string }) => message)).toEqual([
      "openai: It is here with another settings",
      "openai sk-…p4Vb: It is here with another weight",
    ]);
    expect((await shown(to)).length).toBe(1);
  });

  it("leaves what differs as it is here when told to, and takes the rest", async () => {
    const document = sealed;
    await to.addProvider({ preset: "openai", slug: "openai", api_key: values[2] });
    await to.addKey("openai", { api_key: values[0], label: "main", weight: 1, order: 2 });

    const { body } = await to.call("POST", "/api/import", { document, passphrase, on_conflict: "keep" });

    expect(body).toMatchObject({
      applied: true,
      providers: { added: 1, conflicts: 1 },
      keys: { added: 2, conflicts: 1 },
    });
    const [openai] = await shown(to);
    expect(openai.settings.cooldown.base_ms).toBe(60_000);
    expect(openai.keys.map(({ weight }: { weight: number }) => weight)).toEqual([1, 1, 1]);
  });

  it("adds no key to a provider that leads to another host here", async () => {
    const document = sealed;
    await to.addProvider({ preset: "openai", slug: "openai", base_url: "https://other.example/v1" });

    const { body } = await to.call("POST", "/api/import", { document, passphrase, on_conflict: "keep" });

    expect(body).toMatchObject({ keys: { added: 0, conflicts: 3 } });
    expect((await shown(to))[0].keys).toEqual([]);
  });

  it("is refused with a wrong passphrase, and for a document that was changed", async () => {
    const document = sealed;
    const [openai, mine] = document.providers;
    const elsewhere = { ...document, providers: [{ ...openai, base_url: "https://thief.example/v1" }, mine] };

    const wrong = await to.call("POST", "/api/import", { document, passphrase: "another passphrase" });
    const changed = await to.call("POST", "/api/import", { document: elsewhere, passphrase });

    expect([wrong.status, wrong.body.errors]).toEqual([
      422,
      [{ path: "passphrase", message: "The passphrase is wrong", code: "refused" }],
    ]);
    expect([changed.status, changed.body.detail]).toEqual([422, expect.stringContaining("changed since it was made")]);
    expect(await shown(to)).toEqual([]);
  });

  it("is refused whole for one wrong field, which is named", async () => {
    const document = masked;
    const [openai, mine] = document.providers;
    const withProviders = (...providers: unknown[]) => ({ document: { ...document, providers } });

    const bad = [
      withProviders(openai, { ...mine, base_url: "http://169.254.169.254/" }),
      withProviders(openai, { ...mine, slug: "api" }),
      withProviders(openai, openai),
      withProviders({ ...mine, keys: [{ api_key: "two words", label: "", weight: 1, enabled: true, order: 0 }] }),
      withProviders({ ...mine, keys: [{ api_key: "$A", label: "", weight: 500, enabled: true, order: 0 }] }),
      { document: { ...document, version: 2 } },
      { document: { ...document, format: "other" } },
    ];
    const answers = await Promise.all(bad.map((body) => to.call("POST", "/api/import", body)));

    expect(answers.map(({ status }) => status)).toEqual(bad.map(() => 422));
    expect(answers.map(({ body }) => body.errors[0].path)).toEqual([
      "document.providers.1.base_url",
      "document.providers.1.slug",
      "document.providers.1.slug",
      "document.providers.0.keys.0.api_key",
      "document.providers.0.keys.0.weight",
      "document.version",
      "document.format",
    ]);
    expect(await shown(to)).toEqual([]);
  });

  it("is all or nothing where the database fails", async () => {
    const document = sealed;
    to.breakStore("insertProvidersAndKeys");

    const { status } = await to.call("POST", "/api/import", { document, passphrase });

    to.breakStore(undefined);
    expect(status).toBe(503);
    expect(await shown(to)).toEqual([]);
    await to.restart();
    expect(await shown(to)).toEqual([]);
  });

  it("takes 10,000 keys at once", async () => {
    const [, mine] = masked.providers;
    const keys = Array.from({ length: 10_000 }, (_, order) => ({
      api_key: `sk-many-keys-0123456789-${order}`,
      label: "",
      weight: 1,
      enabled: true,
      order,
    }));

    const { body } = await to.call("POST", "/api/import", { document: { ...masked, providers: [{ ...mine, keys }] } });

    expect(body).toMatchObject({ applied: true, keys: { added: 10_000 } });
  });
});
