import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aHome, type CommandOptions, runCommand, spawnCommand } from "./run-command.ts";

/** A home whose temporary folder can be looked at. */
function aPlace() {
  const place = aHome();
  const folder = join(place.home, "tmp");
  mkdirSync(folder);
  const env = { TMPDIR: folder };
  return { ...place, env, left: () => [...readdirSync(folder), ...readdirSync(place.home)] };
}

/** Starts the demo and waits until it has said something. */
async function startDemo(words: readonly string[], options: CommandOptions, said: RegExp) {
  const child = spawnCommand(["demo", ...words], options);
  let text = "";
  child.stdout?.setEncoding("utf8");
  const ended = once(child, "close");
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on("data", (piece: string) => {
      text += piece;
      if (said.test(text)) resolve();
    });
    child.once("close", () => reject(new Error(`The demo ended early: ${text}`)));
  });
  return { child, ended, text: () => text };
}

describe("keywheel demo", () => {
  it("tells in the given time what happens to keys, and leaves nothing behind", async () => {
    using place = aPlace();

    // In real time, as what is told is what really happens. What a person has set up for their own gateway has no part in it.
    const env = { ...place.env, KEYWHEEL_PORT: "none", KEYWHEEL_DATABASE_URL: "postgres://nowhere.invalid/x" };
    const { code, stdout, stderr } = await runCommand(["demo", "--no-open", "--seconds", "12"], {
      home: place.home,
      env,
    });

    expect([code, stderr]).toEqual([0, ""]);
    const order = [
      /Sign in +http:\/\/127\.0\.0\.1:\d+\/ui\/sign-in\?code=/,
      /Six chats begin/,
      /Ben's key got a 429 and rests for \d s\./,
      /Moved, and the client noticed nothing: ".+" from Ben to /,
      /Ben's key is available again/,
      /Cleo's key got a 401 and is disabled/,
      /Cleo's key is available again/,
      /\d+ requests answered, none failed\. The demo is over/,
    ];
    const places = order.map((words) => stdout.search(words));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(place.left()).toEqual(["tmp"]);
  });

  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "ends cleanly at %s, with the pages and a program served until then",
    async (signal) => {
      using place = aPlace();
      const { child, ended, text } = await startDemo(["--no-open"], { home: place.home, env: place.env }, /Six chats/);
      const [, link = ""] = /Sign in +(\S+)/.exec(text()) ?? [];
      const [, baseUrl = ""] = /or (\S+) as the base URL/.exec(text()) ?? [];

      const page = await fetch(link, { redirect: "manual" });
      const answer = await fetch(`${baseUrl}/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "demo-model", stream: true, messages: [{ role: "user", content: "Hello" }] }),
      });
      expect([page.status, page.headers.get("set-cookie")]).toEqual([303, expect.any(String)]);
      expect(await answer.text()).toMatch(/"content":"demo's ".*\n\ndata: \[DONE\]\n\n$/s);
      child.kill(signal);

      expect(await ended).toEqual([0, null]);
      expect(text()).toContain("The demo is over");
      await expect(fetch(link)).rejects.toThrow("fetch failed");
      expect(place.left()).toEqual(["tmp"]);
    },
  );

  it("is what the README shows", () => {
    const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");

    expect(readme.match(/^npx keywheel demo.*$/gm)).toEqual(["npx keywheel demo"]);
  });

  it("goes on where its provider is removed by whoever looks at it", async () => {
    using place = aPlace();
    const { child, ended, text } = await startDemo(["--no-open"], { home: place.home, env: place.env }, /Six chats/);
    const [, link = "", origin = ""] = /Sign in +((http:..[^/]+)\S+)/.exec(text()) ?? [];
    const cookie = (await fetch(link, { redirect: "manual" })).headers.get("set-cookie")?.split(";")[0] ?? "";

    const { status } = await fetch(`${origin}/api/providers/demo`, { method: "DELETE", headers: { cookie, origin } });
    expect(status).toBe(204);
    await expect.poll(text, { timeout: 10_000 }).toContain("Being slow is no failure");
    child.kill("SIGINT");

    expect(await ended).toEqual([0, null]);
    expect(text()).toMatch(/requests? answered, [1-9]\d* failed/);
  });

  it("prints the link where no browser can be opened", async () => {
    using place = aPlace();

    const { code, stdout, stderr } = await runCommand(["demo", "--seconds", "5"], {
      home: place.home,
      env: { ...place.env, PATH: "/nowhere" },
    });

    expect(code).toBe(0);
    expect(stderr).toContain("No browser can be opened from here; follow the sign-in link above.");
    expect(stdout).toContain("/ui/sign-in?code=");
  });

  it.each(["4", "soon"])("refuses %s seconds", async (seconds) => {
    using place = aPlace();

    const { code, stderr } = await runCommand(["demo", "--seconds", seconds], place);

    expect(code).toBe(2);
    expect(stderr).toContain("Expected `--seconds` to be seconds from 5 to 86400");
    expect(place.left()).toEqual(["tmp"]);
  });
});
