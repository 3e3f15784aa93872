import { openAiError, reply, runGateway } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { runCommand } from "./run-command.ts";

const limited = openAiError(429, { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" });

describe.each([
  { name: "one process", flags: [] },
  { name: "three processes", flags: ["--workers", "3"] },
])("the owners of keys in a gateway of $name", ({ flags }) => {
  // A dozen starts of the command line, on a machine that may be busy.
  it("are told by answers and set by hand, and shown by the command line", async () => {
    await using gateway = await runGateway({ flags });
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    const body = { choices: [{ message: { role: "assistant", content: "Hi" } }] };
    const onA = pool.provider.on({ key: pool.valueOf("A") });
    pool.provider.on().always(reply.json(200, { "openai-organization": "acme-inc", "openai-project": "proj_1" }, body));
    for (let n = 0; n < 4; n++) await (await pool.send({ headers: { connection: "close" } })).arrayBuffer();
    const owners = async () =>
      (await gateway.keys(pool.record)).map(({ organization, project }) => [organization, project]);
    const ofAcme = ["acme-inc", "proj_1"];
    await expect.poll(owners, { timeout: 10_000 }).toEqual([ofAcme, ofAcme]);
    const keywheel = async (words: readonly string[], input?: string): Promise<string> => {
      const env = { KEYWHEEL_DATA_DIR: gateway.dataDir };
      const options = { home: gateway.dataDir, env, ...(input === undefined ? {} : { input }) };
      const { stdout, stderr, code } = await runCommand(words, options);
      expect([code, stderr]).toEqual([0, ""]);
      return stdout;
    };
    expect(await keywheel(["key", "list", pool.record.slug])).toMatch(
      /Owner[^]*\(acme-inc, proj_1\)[^]*\(acme-inc, proj_1\)/,
    );

    await keywheel(["key", "set", "A", "--provider", pool.record.slug, "--group", "project one"]);
    await keywheel(["key", "import", pool.record.slug, "-", "--group", "project two"], "sk-test-imported-00000001\n");

    const groups = async () => (await gateway.keys(pool.record)).map(({ group }) => group);
    expect(await groups()).toEqual(["project one", "", "project two"]);
    expect(await keywheel(["key", "list", pool.record.slug])).toMatch(
      /project one[^]*\(acme-inc, proj_1\)[^]*project two/,
    );
    await keywheel(["key", "set", "B", "--provider", pool.record.slug, "--group", "project one"]);
    onA.next(limited);
    // One of three in a row is A's turn. The provider knows nothing of the third key, and refuses it.
    for (let n = 0; n < 3; n++) await (await pool.send({ headers: { connection: "close" } })).arrayBuffer();
    const states = async () =>
      (await gateway.keys(pool.record)).map(({ status, consecutive_failures: failures }) => `${status} ${failures}`);
    await expect.poll(states, { timeout: 10_000 }).toEqual(["cooling_down 1", "cooling_down 0", "disabled 0"]);
    expect(await keywheel(["key", "list", pool.record.slug])).toContain("rate limited (429), with A");
    await gateway.kill();
    await gateway.restart();
    expect(await states()).toEqual(["cooling_down 1", "cooling_down 0", "disabled 0"]);
    await keywheel(["key", "set", "A", "--provider", pool.record.slug, "--group", "none"]);
    expect(await groups()).toEqual(["", "project one", "project two"]);
  }, 90_000);
});
