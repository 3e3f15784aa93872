import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { Keychain } from "../../packages/gateway/src/catalog/keychain.ts";
import { createTestDatabase, queryPostgres } from "../../packages/testkit/src/postgres.ts";
import { ensureBuilt } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { run } from "../library/packed.ts";
import { eventually } from "../pooled-provider.ts";
import { aReader, keyFor, piecesOf, type Reader, shellOf, type ShownCommands } from "./shell.ts";

const read = (page: string): string => readFileSync(join(root, "docs", `${page}.md`), "utf8");

beforeAll(() => ensureBuilt(), 120_000);

/** The pieces of a page that it has such a number of: one more wants a test as well. */
function shellPieces(page: string, count: number): readonly ShownCommands[] {
  const pieces = shellOf(read(page));
  if (pieces.length !== count) throw new Error(`docs/${page}.md has ${pieces.length} pieces of shell, not ${count}`);
  return pieces;
}

describe("docs/configuration.md", () => {
  const [configuring, keychain] = shellPieces("configuration", 2);

  it("can be typed, at a gateway that follows a file", { timeout: 60_000 }, async () => {
    const place = mkdtempSync(join(tmpdir(), "keywheel-followed-"));
    const followed = join(place, "keywheel.yaml");
    writeFileSync(followed, "version: 1\nproviders:\n  groq:\n");
    try {
      await using reader = await aReader({ prepared: true, env: { KEYWHEEL_CONFIG: followed } });

      const said = await reader.type(configuring?.code ?? "");

      const schema = JSON.parse(readFileSync(join(reader.folder, "keywheel.schema.json"), "utf8")) as object;
      expect(schema).toHaveProperty("properties.providers");
      expect(readFileSync(join(reader.folder, "keywheel.yaml"), "utf8")).toContain("openai:");
      expect(said).toContain(followed);
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  });

  // There is no desktop here, and no macOS: what is put into the keychain is what the gateway asks of it, word for word.
  it("puts into the keychain what the gateway asks it for", async () => {
    const told = `printf '%s\\n' "$*" >> "$HOME/told"\n`;
    await using reader = await aReader({ prepared: false, programs: { "secret-tool": told, security: told } });
    await reader.type(keychain?.code ?? "");
    const [onLinux = "", onMac = ""] = readFileSync(join(reader.folder, "..", "told"), "utf8").split("\n");

    const asked = await callsOfKeychain("openai-1", reader);

    expect(onLinux).toBe(`store --label=Keywheel ${asked.linux.replace("lookup ", "")}`);
    expect(onMac.replace("add-", "find-")).toBe(asked.darwin);
  });
});

/** What a gateway says to the tools of both systems, when it looks for an entry. */
async function callsOfKeychain(account: string, { folder }: Reader): Promise<Record<"linux" | "darwin", string>> {
  const bin = join(folder, "tools");
  mkdirSync(bin);
  for (const name of ["secret-tool", "security"])
    writeFileSync(join(bin, name), `#!/bin/sh\nprintf '%s' "$*" > "${bin}/asked"\necho ${keyFor("kept")}\n`, {
      mode: 0o755,
    });
  const ask = async (platform: "linux" | "darwin"): Promise<string> => {
    await new Promise<void>((onChange) => {
      const environment = { PATH: [bin, process.env["PATH"]].join(delimiter) };
      new Keychain({ platform, environment, now: () => 0, onChange }).resolve(account);
    });
    return readFileSync(join(bin, "asked"), "utf8");
  };
  return { linux: await ask("linux"), darwin: await ask("darwin") };
}

describe("docs/scaling.md", () => {
  const [several, moving] = shellPieces("scaling", 2);

  it("starts a gateway on PostgreSQL", { timeout: 60_000 }, async () => {
    const database = await createTestDatabase();
    const instead = new Map([[shownAddress(several), database]]);
    await using reader = await aReader({ prepared: false, instead });
    writeFileSync(join(reader.folder, "master.key"), `${Buffer.alloc(32, 7).toString("base64")}\n`);

    const said = await reader.type(several?.code ?? "");

    expect(said).toContain("http://127.0.0.1:");
    expect(await queryPostgres(database, "SELECT count(*)::int AS count FROM providers")).toEqual([{ count: 0 }]);
  });

  it("moves there what the embedded database has", { timeout: 60_000 }, async () => {
    // Of a socket, with signs that a shell takes for its own.
    const instead = new Map([[shownAddress(moving), `'${await createTestDatabase()}'`]]);
    await using reader = await aReader({ prepared: false, instead });
    await reader.type("KEYWHEEL_DATA_DIR=$HOME/other keywheel provider add groq");

    const said = await reader.type(`exec 2>&1\n${moving?.code}`);

    expect(said).toContain("and compared each");
  });
});

/** The address of a database that a page invents. */
function shownAddress(piece: ShownCommands | undefined): string {
  return /postgres:\/\/[^\s']+/.exec(piece?.code ?? "")?.[0] ?? "";
}

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Somebody who takes what is posted, and says what it was. */
async function aReceiver(): Promise<{ readonly url: string; readonly received: Received[] } & AsyncDisposable> {
  const received: Received[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = "";
    for await (const piece of request) body += String(piece);
    received.push({ headers: request.headers, body });
    response.writeHead(204).end();
  };
  const server = createServer((request, response) => void take(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** The fields of a message, in order, with those inside. */
function fieldsOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fieldsOf(inner)]));
}

describe("docs/observability.md", () => {
  const [webhooks, telemetry] = shellPieces("observability", 2);

  it("can be typed, and the test message arrives", { timeout: 60_000 }, async () => {
    await using receiver = await aReceiver();
    await using reader = await aReader({
      prepared: true,
      instead: new Map([["https://hooks.example.com", receiver.url]]),
    });

    await reader.type(webhooks?.code ?? "");

    expect(receiver.received.map(({ body }) => JSON.parse(body) as object)).toMatchObject([{ type: "webhook.test" }]);
    expect(await reader.type("keywheel webhook list --json")).toBe('{"data":[]}\n');
  });

  it("shows a message as it is sent, and how a receiver checks it", { timeout: 60_000 }, async () => {
    await using receiver = await aReceiver();
    await using reader = await aReader({ prepared: true });
    const added = JSON.parse(await reader.type(`keywheel webhook add ${receiver.url} --event key.disabled --json`)) as {
      readonly secret: string;
    };
    await reader.type(`keywheel key add openai ${keyFor("nobody")} --label Production --weight 100
      for turn in 1 2 3 4; do curl -s http://127.0.0.1:8787/openai/v1/chat/completions -o turn -H 'content-type: application/json' -d '{"model": "gpt-test", "messages": [{"role": "user", "content": "Hello '$turn'"}]}'; done`);
    await eventually(() => receiver.received.length > 0, Boolean, { what: "the message" });
    const [{ headers, body } = { headers: {}, body: "" }] = receiver.received;
    const [shown] = piecesOf(read("observability"), ["json"]);
    const [check] = piecesOf(read("observability"), ["js"]);

    // Where packages are found as they are from the tests.
    const folder = mkdtempSync(join(root, "test", "docs", ".snippets-"));
    try {
      const given = `const headers = ${JSON.stringify(headers)};\nconst body = ${JSON.stringify(body)};\n`;
      const secret = `process.env.KEYWHEEL_WEBHOOK_SECRET = ${JSON.stringify(added.secret)};\n`;
      writeFileSync(join(folder, "receiver.mjs"), `${given}${secret}${check?.code}\nconsole.log(message.type);`);
      const said = await run(process.execPath, [join(folder, "receiver.mjs")], folder);

      expect(said).toBe("key.disabled\n");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    const example = JSON.parse(shown?.code ?? "") as { readonly data: { readonly reason: string } };
    const sent = JSON.parse(body) as typeof example;
    expect(fieldsOf(sent)).toEqual(fieldsOf(example));
    expect(sent).toMatchObject({ type: "key.disabled", data: { reason: example.data.reason, http_status: 401 } });
  });

  it("sends to a collector", { timeout: 60_000 }, async () => {
    await using receiver = await aReceiver();
    await using reader = await aReader({
      prepared: false,
      instead: new Map([["http://127.0.0.1:4318", receiver.url]]),
    });

    await reader.type(telemetry?.code ?? "");

    // What is known at the end is sent at the end.
    expect(receiver.received.map(({ headers }) => headers["content-type"])).toContain("application/x-protobuf");
  });
});
