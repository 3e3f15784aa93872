import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gunzipSync, gzipSync } from "node:zlib";
import { reply, type Reply, runGateway, type RunningGateway, type ScriptedKind } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually, poolOf } from "../pooled-provider.ts";
import { callOnWire } from "../wire-client.ts";
import { converse } from "../fuzz/raw-socket.ts";

/** A key of which no part is a word. */
const aKey = (name: string): string => `sk-${name}-${randomBytes(24).toString("base64url")}`;
const environmentKey = aKey("env");

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway({ env: { CASE_102_KEY: environmentKey }, flags: ["--log-level", "debug"] });
  return () => gateway[Symbol.asyncDispose]();
});

/** Every part of twelve characters of a key and of the forms in which it travels. */
function slicesOf(value: string): Set<string> {
  const bytes = Buffer.from(value);
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .slice(4, -4),
  );
  const forms = [
    value,
    encodeURIComponent(value),
    ...base64,
    ...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
  ];
  const slices = new Set<string>();
  for (const form of forms) for (let at = 0; at + 12 <= form.length; at++) slices.add(form.slice(at, at + 12));
  return slices;
}

/** Where any of these parts stands in a text: a dozen characters before it, so that a failure shows the place. */
function leaksIn(text: string, slices: ReadonlySet<string>): string[] {
  const leaks: string[] = [];
  for (let at = 0; at + 12 <= text.length && leaks.length < 3; at++) {
    if (slices.has(text.slice(at, at + 12))) leaks.push(text.slice(Math.max(0, at - 60), at + 12));
  }
  return leaks;
}

describe("a diagnostic report of the process", () => {
  it("holds neither the environment nor a key", async () => {
    const folder = mkdtempSync(join(tmpdir(), "keywheel-report-"));
    const masterKey = randomBytes(32).toString("base64");
    await using reported = await runGateway({
      env: {
        NODE_OPTIONS: `--report-on-signal --report-directory=${folder}`,
        KEYWHEEL_MASTER_KEY: masterKey,
        REPORTED_KEY: environmentKey,
      },
    });
    await using pool = await poolOf(reported, { keys: [{ api_key: aKey("reported") }, { api_key: "$REPORTED_KEY" }] });
    await pool.send();

    process.kill(reported.pid, "SIGUSR2");
    const [name = ""] = await eventually(
      async () => readdirSync(folder),
      (names) => names.length > 0,
      { what: "the report" },
    );
    const text = await eventually(
      async () => readFileSync(join(folder, name), "utf8"),
      (report) => report.trimEnd().endsWith("}"),
      { what: "the whole of it" },
    );
    rmSync(folder, { recursive: true });

    expect(JSON.parse(text)).toHaveProperty("javascriptHeap");
    for (const secret of [masterKey, environmentKey, reported.adminToken, pool.values[0] ?? ""])
      expect(leaksIn(text, slicesOf(secret))).toEqual([]);
  });
});

/** How a provider may repeat a key. */
function echoesOf(value: string): string {
  return [
    `Incorrect API key provided: ${value}.`,
    `(${value.slice(0, 20)})`,
    encodeURIComponent(`Bearer ${value}`),
    Buffer.from(value).toString("base64"),
    Buffer.from(`user:${value}`).toString("base64"),
    Buffer.from(value).toString("base64url"),
  ].join(" ");
}

function errorsOf(value: string): readonly Reply[] {
  const body = { error: { message: echoesOf(value), type: "invalid_request_error", code: "x", param: value } };
  const text = JSON.stringify(body);
  const headers = { "content-type": "application/json", "x-echo": value };
  return [
    ...[400, 401, 403, 404, 413, 422, 429, 500, 503, 529].map((status) => reply.json(status, headers, body)),
    ...[400, 401, 500].flatMap((status) => [
      reply.encoded("gzip", status, headers, text),
      reply.encoded("br", status, headers, text),
      reply.status(status, { "content-type": "text/html", "x-echo": value }, `<p>${echoesOf(value)}</p>`),
    ]),
    reply.raw([`HTTP/1.1 200 OK\r\nx-echo: ${value}\0\r\n\r\n${value}`], { end: "fin" }),
    reply.raw([`${value}\r\n\r\n`], { end: "fin" }),
    reply.raw([`HTTP/1.1 429 ${value}\r\ncontent-length: 0\r\n\r\n`], { end: "fin" }),
    reply.cutInBody("rst", { status: 401, sent: text, length: 99_999 }),
    reply.cutBeforeHeaders("rst"),
  ];
}

async function everyAnswerOfApi(ids: readonly string[]): Promise<string[]> {
  const { paths } = await gateway.api<{ paths: Record<string, object> }>("GET", "/openapi.json");
  const texts: string[] = [];
  for (const path of Object.keys(paths).filter((one) => one !== "/api/events")) {
    for (const id of path.includes("{") ? ids : [""]) {
      texts.push(await (await gateway.apiResponse("GET", path.replace(/^\/api/, "").replace(/\{\w+\}/g, id))).text());
    }
  }
  return texts;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile());
}

describe("case 102: driven through failures of all kinds at debug level", () => {
  it.each<ScriptedKind>(["openai", "anthropic", "gemini", "openai-compatible"])(
    "not twelve characters of a key get out of a gateway in front of %s",
    { timeout: 60_000 },
    async (kind) => {
      const [value, own, client] = [aKey("pool"), aKey("own"), aKey("client")];
      const keys = [{ api_key: value }, { api_key: "$CASE_102_KEY" }];
      await using pool = await poolOf(gateway, { kind, keys, apiKey: own, faultsAreExpected: true });
      const shown: string[] = [];
      const events = new AbortController();
      const stream = await fetch(`${gateway.url}/api/events`, {
        headers: { authorization: `Bearer ${gateway.adminToken}` },
        signal: events.signal,
      });
      void stream.body
        ?.pipeThrough(new TextDecoderStream())
        .pipeTo(new WritableStream({ write: (text) => void shown.push(text) }))
        .catch(() => {});
      const send = async (): Promise<void> => {
        try {
          const response = await pool.send({ headers: { authorization: `Bearer ${client}` } });
          shown.push(JSON.stringify([...response.headers]), response.statusText, await response.text());
        } catch {
          // The provider has broken its answer off, and the gateway the client's with it.
        }
      };
      const renew = async (): Promise<void> => {
        for (const key of pool.keys) {
          await gateway.api("PATCH", `/keys/${key.id}`, { enabled: true });
          await gateway.api("POST", `/keys/${key.id}/reset`);
        }
      };

      // An error under a status of success, which is held back until it can be judged.
      const opening = reply.sse([{ data: { error: { message: echoesOf(value), type: "invalid_request_error" } } }]);
      for (const failure of [...errorsOf(value), opening]) {
        pool.provider.forKey(value).next(failure);
        await Promise.all([send(), send()]);
        await renew();
      }
      for (const failure of errorsOf(value)) {
        pool.provider.forKey(value).next(failure);
        shown.push(await (await gateway.apiResponse("POST", `/keys/${pool.keys[0]?.id}/test`)).text());
      }
      const { port } = new URL(gateway.url);
      for (const line of [
        `GET /${pool.record.slug}/v1/models?key=${client} HTTP/1.1`,
        `GET /${client} HTTP/1.1`,
        client,
      ]) {
        const { heard } = await converse(Number(port), { pieces: [`${line}\r\nHost: localhost\r\n\r\n`], end: "wait" });
        shown.push(heard);
      }
      for (const body of [{ api_key: `${value},${own}` }, { api_key: `${value}\n` }, { api_key: { value } }]) {
        shown.push(await (await gateway.apiResponse("POST", `/providers/${pool.record.id}/keys`, body)).text());
      }
      for (const key of pool.keys) await gateway.api("DELETE", `/keys/${key.id}`);
      for (const failure of errorsOf(own)) {
        pool.provider.forKey(own).next(failure);
        await send();
      }
      shown.push(...(await everyAnswerOfApi([pool.record.id, pool.keys[0]?.id ?? ""])));
      shown.push((await callOnWire(gateway.url, { path: "/metrics" })).body.toString());
      await eventually(
        () => shown.join("").includes("key-disabled") || shown.join("").includes("key_disabled"),
        Boolean,
        { what: "the events to have come" },
      );
      events.abort();
      await gateway.restart();
      const files = filesBelow(gateway.dataDir).map((file) => readFileSync(file).toString("latin1"));

      const slices = new Set([value, own, environmentKey].flatMap((key) => [...slicesOf(key)]));
      expect(shown.flatMap((text) => leaksIn(text, slices))).toEqual([]);
      expect(leaksIn(gateway.logs(), slices)).toEqual([]);
      expect(files.flatMap((text) => leaksIn(text, slices))).toEqual([]);
      // A client may well be told what it sent itself, but nobody else.
      expect([gateway.logs(), ...files].flatMap((text) => leaksIn(text, slicesOf(client)))).toEqual([]);
      expect(shown.join("")).toContain("[redacted]");
    },
  );

  it("an error that repeats no key goes to the client byte for byte, whatever its coding", async () => {
    await using pool = await poolOf(gateway, { kind: "openai-compatible", weights: [1] });
    const text = '{ "error":\n{"message": "sk-somebody-elses-0123456789 is no key of ours" } }';
    const bodies = [Buffer.from(text), gzipSync(text), brotliCompressSync(text), Buffer.from("\xff\xfe", "latin1")];
    const codings = [undefined, "gzip", "br", undefined];
    for (const [at, body] of bodies.entries()) {
      const coding = codings[at];
      pool.provider.on().next(reply.status(422, coding === undefined ? {} : { "content-encoding": coding }, body));
    }

    for (const body of bodies) {
      const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}/x` });
      expect([answer.status, answer.body.equals(body)]).toEqual([422, true]);
    }
  });

  it("a compressed error that repeats a key goes to the client whole and plain, without it", async () => {
    await using pool = await poolOf(gateway, { kind: "openai-compatible", weights: [1] });
    const [value] = pool.values;
    const packed = gzipSync(JSON.stringify({ error: { message: `Wrong: ${value}`, code: 7 } }));
    pool.provider.on().next(reply.status(400, { "content-encoding": "gzip", etag: '"a"' }, packed));

    const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}/x` });

    expect(answer.json()).toEqual({ error: { message: "Wrong: [redacted]", code: 7 } });
    expect([answer.header("content-encoding"), answer.header("etag")]).toEqual([undefined, undefined]);
    expect(answer.headerValues("content-length")).toEqual([String(answer.body.length)]);
    expect(gunzipSync(packed).toString()).toContain(value);
  });
});
