import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reply, runGateway, startScriptedProvider } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { aHome, runCommand, spawnCommand } from "./run-command.ts";

/** As long as nobody fixes it from outside, the gateway makes its own. */
const noAdminToken = { KEYWHEEL_ADMIN_TOKEN: "" };

describe("a start", () => {
  it("says where it serves, in the data directory, for nobody else to read, until it stops", async () => {
    await using gateway = await runGateway();
    const file = join(gateway.dataDir, "gateway.json");

    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      url: gateway.url,
      pid: gateway.pid,
      version: gateway.version,
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(gateway.dataDir).mode & 0o777).toBe(0o700);

    expect(await gateway.stop()).toBe(0);
    expect(existsSync(file)).toBe(false);
  });

  it("shows the admin token once, at the first start, and in no log", async () => {
    await using gateway = await runGateway({ env: noAdminToken, flags: ["--log-level", "trace"] });
    const [token = ""] = /kwa_[a-z2-7]+/.exec(gateway.logs()) ?? [];
    const response = await fetch(`${gateway.url}/api/status`, { headers: { authorization: `Bearer ${token}` } });
    expect(response.status).toBe(200);

    await gateway.restart();

    const logs = gateway.logs();
    expect(logs.split(token)).toHaveLength(2);
    expect(logs.split("\n").filter((line) => line.startsWith("{") && line.includes("kwa_"))).toEqual([]);
  });

  it("prints a link that signs a browser in, once", async () => {
    await using gateway = await runGateway();
    const [link = ""] = /http\S+\/ui\/sign-in\?code=\S+/.exec(gateway.logs()) ?? [];

    const first = await fetch(link, { redirect: "manual" });
    const second = await fetch(link, { redirect: "manual" });

    expect(first.headers.get("set-cookie")).toMatch(/HttpOnly/i);
    expect(second.headers.get("set-cookie")).toBeNull();
  });

  it("is refused while another gateway has the data directory, and names it", async () => {
    await using gateway = await runGateway();

    const { code, stderr } = await runCommand(["start", "--port", "0", "--data-dir", gateway.dataDir], {
      home: gateway.dataDir,
    });

    expect(code).toBe(1);
    expect(stderr).toContain(`in use by the gateway at ${gateway.url} (process ${gateway.pid})`);
    expect(gateway.isRunning).toBe(true);
  });

  it("is refused where the port is taken, and says what to do", async () => {
    using place = aHome();
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" ? String(address?.port) : "";

    const { code, stderr } = await runCommand(["start", "--port", port], place);
    other.close();

    expect(code).toBe(1);
    expect(stderr).toContain(`Port ${port} on 127.0.0.1 is in use`);
    expect(stderr).toContain("--port 0 takes a free port");
  });

  it("is refused beyond loopback until tokens guard it", async () => {
    using place = aHome();

    const { code, stderr } = await runCommand(["start", "--port", "0", "--host", "0.0.0.0"], place);

    expect(code).toBe(2);
    expect(stderr).toContain("can be reached from other machines");
  });

  it("takes a flag before the variable", async () => {
    const env = { KEYWHEEL_LOG_LEVEL: "silent", KEYWHEEL_HOST: "127.0.0.2" };
    await using gateway = await runGateway({ env, flags: ["--log-level", "info"] });

    expect(gateway.url).toContain("127.0.0.2");
    expect(gateway.logs()).toContain('"msg":"Serving"');
  });

  it("ends where it cannot say that it serves", async () => {
    using place = aHome();
    const readyFile = join(place.home, "no", "folder", "ready.json");

    const { code, stderr } = await runCommand(["start", "--port", "0", "--ready-file", readyFile], place);

    expect(code).toBe(1);
    expect(stderr).toContain(`The file ${readyFile} cannot be written: ENOENT.`);
  });

  it("does not take the word of a ready file that an earlier process left", async () => {
    using place = aHome();
    const readyFile = join(place.home, "ready.json");
    writeFileSync(readyFile, '{"url":"http://127.0.0.1:1","pid":1,"version":"0"}');
    const child = spawnCommand(["start", "--port", "70000", "--ready-file", readyFile], place);
    await once(child, "close");
    // The words were off: nothing was started, nothing was touched.
    expect(existsSync(readyFile)).toBe(true);

    const gateway = spawnCommand(["start", "--port", "0", "--ready-file", readyFile], place);
    const told = await waitFor(() => readReady(readyFile)?.pid === gateway.pid && readReady(readyFile));
    gateway.kill();

    expect(told.url).not.toBe("http://127.0.0.1:1");
    expect(await once(gateway, "close")).toEqual([0, null]);
    expect(existsSync(readyFile)).toBe(false);
  });
});

describe("wrong words", () => {
  it.each([
    [["start", "--port", "http"], {}, 'Expected `--port` to be an integer from 0 to 65535, got "http".'],
    [["start"], { KEYWHEEL_PORT: "-1" }, 'Expected `KEYWHEEL_PORT` to be an integer from 0 to 65535, got "-1".'],
    [["start", "--env-file", "/nowhere"], {}, 'Expected `--env-file` to be a file that exists, got "/nowhere".'],
    [["start", "--prot", "1"], {}, "There is no flag `--prot`. Did you mean --port?"],
    [["strat"], {}, "There is no command `strat`. Did you mean start?"],
    [["start", "--redis-url", "http://x"], {}, "Expected `--redis-url` to be redis://host:6379"],
    [["start", "--database-url", "mysql://a:hunter2@b/c"], {}, "Expected `--database-url` to be postgres://"],
    [["key", "add"], {}, "The word <provider> is missing."],
    [
      ["key", "add", "openai", "sk-0123456789abcdef", "sk-fedcba9876543210"],
      {},
      "There are more words than this command",
    ],
    [[], {}, "Usage: keywheel"],
  ])("%j %j", async (words, env, message) => {
    using place = aHome();

    const { code, stdout, stderr } = await runCommand(words, { ...place, env });

    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/hunter2|sk-0123456789|sk-fedcba/);
  });
});

describe("a stop", () => {
  it("lets a running response end, takes no other, and writes everything down", async () => {
    await using provider = await startScriptedProvider({ keys: ["sk-test-0000000000000001"] });
    await using gateway = await runGateway();
    const record = await gateway.addProvider({ baseUrl: provider.baseUrl });
    await gateway.addKeys(record, ["sk-test-0000000000000001"]);
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    provider.on().always(reply.after(gate, reply.json(200, {}, { id: "last words" })));
    const answer = postChat(gateway.baseUrlOf(record), "kept");
    await provider.arrived(1);

    const ended = gateway.kill("SIGTERM");
    await waitFor(() => isRefused(gateway.url));
    release();

    expect(await (await answer).json()).toEqual({ id: "last words" });
    expect(await ended).toBe(0);
    await gateway.restart();
    const { data } = await gateway.api<{ data: { id: string }[] }>("GET", "/sessions");
    expect(data.map(({ id }) => id)).toEqual(["kept"]);
  });

  it("cuts off what does not end in time", async () => {
    await using provider = await startScriptedProvider({ keys: ["sk-test-0000000000000001"] });
    await using gateway = await runGateway({ flags: ["--grace-seconds", "0.2"] });
    const record = await gateway.addProvider({ baseUrl: provider.baseUrl });
    await gateway.addKeys(record, ["sk-test-0000000000000001"]);
    provider.on().always(reply.hang());
    const answer = postChat(gateway.baseUrlOf(record)).catch(() => "cut off");
    await provider.arrived(1);

    expect(await gateway.stop()).toBe(0);

    expect(await answer).toBe("cut off");
    expect(gateway.logs()).toContain('"cutOff":1');
  });

  // A user saw: `keywheel start 2>&1 | head` stood still for good, deaf to every signal.
  it.each(["is gone", "has stopped reading"])("does not wait for whoever read its output and %s", async (what) => {
    using place = aHome();
    const readyFile = join(place.home, "ready.json");
    const child = spawnCommand(["start", "--port", "0", "--ready-file", readyFile], place);
    if (what === "is gone") {
      child.stdout?.destroy();
      child.stderr?.destroy();
    }
    const { url } = await waitFor(() => readReady(readyFile));

    // More lines than a pipe holds.
    for (let i = 0; i < 300; i++) await (await fetch(`${url}/nobody/${"x".repeat(1000)}`)).text();
    child.kill("SIGTERM");

    expect(await once(child, "exit")).toEqual([0, null]);
    child.stdout?.destroy();
    child.stderr?.destroy();
  });

  it("does not wait for pages that follow the events", async () => {
    await using gateway = await runGateway();
    const events = await gateway.apiResponse("GET", "/events");

    expect(await gateway.stop(5000)).toBe(0);

    await events.body?.cancel().catch(() => undefined);
  });
});

it("starts again after a kill -9, with what it knew", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "keywheel-kill-"));
  await using gateway = await runGateway({ dataDir: join(dataDir, "data") });
  const record = await gateway.addProvider({ baseUrl: "https://api.openai.com/v1" });
  await gateway.addKeys(record, ["sk-test-0000000000000001"]);

  expect(await gateway.kill("SIGKILL")).toBeNull();
  expect(existsSync(join(gateway.dataDir, "gateway.json"))).toBe(true);
  await gateway.restart();

  expect(await gateway.keys(record)).toHaveLength(1);
  rmSync(dataDir, { recursive: true, force: true });
});

it("says what nobody has caught, without its secrets, writes down what it knows and ends", async () => {
  const fault = `import { isMainThread } from "node:worker_threads";
    if (isMainThread) process.on("SIGUSR2", () => { throw new Error("a fault with sk-proj-Q7xWm2Lr9TzKp4Vb"); });`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fault)}` };
  await using provider = await startScriptedProvider({ keys: ["sk-test-0000000000000001"] });
  await using gateway = await runGateway({ env });
  const record = await gateway.addProvider({ baseUrl: provider.baseUrl });
  await gateway.addKeys(record, ["sk-test-0000000000000001"]);
  await (await postChat(gateway.baseUrlOf(record), "kept")).text();

  expect(await gateway.kill("SIGUSR2")).toBe(1);

  expect(gateway.logs()).toContain("a fault with [redacted]");
  expect(gateway.logs()).not.toContain("sk-proj-Q7xW");
  expect(existsSync(join(gateway.dataDir, "gateway.json"))).toBe(false);
  await gateway.restart();
  const { data } = await gateway.api<{ data: { id: string }[] }>("GET", "/sessions");
  expect(data.map(({ id }) => id)).toEqual(["kept"]);
});

it("writes no secret to any output, at the most talkative", async () => {
  const keys = ["sk-proj-Q7xWm2Lr9TzKp4Vb", "plainkey/with+odd=chars~0815"];
  await using provider = await startScriptedProvider({ keys });
  await using gateway = await runGateway({
    flags: ["--log-level", "trace"],
    env: { SOME_KEY: "env-Key.Of.Mine-4711aaaa" },
  });
  const record = await gateway.addProvider({ baseUrl: provider.baseUrl });
  await gateway.addKeys(record, [...keys, "$SOME_KEY"]);
  const [first = "", second = ""] = keys;
  provider.forKey(first).next(reply.json(429, {}, { error: { message: `slow down, ${first}` } }));
  provider
    .forKey(second)
    .next(reply.json(401, {}, { error: { message: `no such key ${encodeURIComponent(second)}` } }));
  const { token } = await gateway.api<{ token: string }>("POST", "/tokens", { name: "one" });

  const said: string[] = [];
  for (let i = 0; i < 4; i++) {
    const response = await fetch(`${gateway.baseUrlOf(record)}/chat/completions?key=${token}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}`, "x-keywheel-session": `s${i}` },
      body: JSON.stringify({ model: "m", messages: [] }),
    });
    said.push(await response.text());
  }
  said.push(JSON.stringify(await gateway.keys(record)));
  said.push(await (await fetch(`${gateway.url}/metrics`)).text());
  await gateway.stop();

  const everything = [gateway.logs(), ...said].join("\n");
  for (const secret of [...keys, "env-Key.Of.Mine-4711aaaa", token, gateway.adminToken]) {
    expect(slicesOf(secret).filter((slice) => everything.includes(slice))).toEqual([]);
  }
});

async function postChat(baseUrl: string, session?: string): Promise<Response> {
  return fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(session === undefined ? {} : { "x-keywheel-session": session }),
    },
    body: JSON.stringify({ model: "m", messages: [] }),
  });
}

function slicesOf(text: string): string[] {
  return Array.from({ length: Math.max(1, text.length - 11) }, (_, i) => text.slice(i, i + 12));
}

function readReady(file: string): { url: string; pid: number } | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { url: string; pid: number }) : undefined;
}

async function isRefused(url: string): Promise<boolean> {
  return fetch(`${url}/healthz`).then(
    () => false,
    () => true,
  );
}

/** Real processes have no clock to be advanced: what is waited for is asked for until it is there. */
async function waitFor<T>(ask: () => T | Promise<T>): Promise<Exclude<T, false | undefined>> {
  for (let tries = 0; tries < 1000; tries++) {
    const answer = await ask();
    if (answer !== false && answer !== undefined) return answer as Exclude<T, false | undefined>;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("It did not come about within 10 s.");
}
