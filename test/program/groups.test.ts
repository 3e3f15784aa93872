import { reply, runGateway } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { runCommand } from "./run-command.ts";

describe.each([
  { name: "one process", flags: [] },
  { name: "three processes", flags: ["--workers", "3"] },
])("the owners of keys in a gateway of $name", ({ flags }) => {
  it("are told by answers and set by hand, and shown by the command line", async () => {
    await using gateway = await runGateway({ flags });
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    const body = { choices: [{ message: { role: "assistant", content: "Hi" } }] };
    pool.provider.on().always(reply.json(200, { "openai-organization": "acme-inc" }, body));
    for (let n = 0; n < 4; n++) await (await pool.send({ headers: { connection: "close" } })).arrayBuffer();
    const organizations = async () => (await gateway.keys(pool.record)).map(({ organization }) => organization);
    await expect.poll(organizations, { timeout: 10_000 }).toEqual(["acme-inc", "acme-inc"]);
    const keywheel = async (words: readonly string[], input?: string): Promise<string> => {
      const env = { KEYWHEEL_DATA_DIR: gateway.dataDir };
      const options = { home: gateway.dataDir, env, ...(input === undefined ? {} : { input }) };
      const { stdout, stderr, code } = await runCommand(words, options);
      expect([code, stderr]).toEqual([0, ""]);
      return stdout;
    };
    expect(await keywheel(["key", "list", pool.record.slug])).toMatch(/Owner[^]*\(acme-inc\)[^]*\(acme-inc\)/);

    await keywheel(["key", "set", "A", "--provider", pool.record.slug, "--group", "project one"]);
    await keywheel(["key", "import", pool.record.slug, "-", "--group", "project two"], "sk-test-imported-00000001\n");

    const groups = async () => (await gateway.keys(pool.record)).map(({ group }) => group);
    expect(await groups()).toEqual(["project one", "", "project two"]);
    expect(await keywheel(["key", "list", pool.record.slug])).toMatch(/project one[^]*\(acme-inc\)[^]*project two/);
    await keywheel(["key", "set", "A", "--provider", pool.record.slug, "--group", "none"]);
    expect(await groups()).toEqual(["", "", "project two"]);
  });
});
