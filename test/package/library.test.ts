import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startScriptedProvider } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { homes, numberedKeys, snippets, values } from "../library/snippets.ts";
import { startRegistry } from "./registry.ts";
import { aUser, packAll, type User } from "./user.ts";

const sdks = ["openai", "@anthropic-ai/sdk", "@google/genai", "ai", "@ai-sdk/openai"];
const runner = join(root, "test", "package", "stand-ins.mjs");

let user: User;
beforeAll(async () => {
  await ensureBuilt();
  using packed = await packAll();
  await using registry = await startRegistry(packed.tarballs, sdks);
  user = aUser(registry.url);
  writeFileSync(join(user.folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await user.install("--ignore-scripts", "@keywheel/pool", ...sdks);
  return () => user[Symbol.dispose]();
}, 120_000);

describe("the library's examples, where it was installed with the SDKs", () => {
  it.each(snippets.map(({ heading, code }, at) => [heading, code, at] as const))("run: %s", async (_, code, at) => {
    const providers = await Promise.all(
      Object.entries(homes).map(async ([origin, kind]) => {
        const provider = await startScriptedProvider({ kind, keys: numberedKeys });
        return [origin, provider] as const;
      }),
    );
    const standIns = Object.fromEntries(providers.map(([origin, provider]) => [origin, provider.origin]));
    writeFileSync(join(user.folder, `snippet-${at}.ts`), code);

    const env = { ...Object.fromEntries(values), STAND_INS: JSON.stringify(standIns) };
    const { code: exitCode, stderr, stdout } = await user.run("node", [runner, `snippet-${at}.ts`], env);

    const picks = providers.map(([, provider]) => provider.picks()).join("");
    const faults = providers.flatMap(([, provider]) => provider.faults);
    await Promise.all(providers.map(([, provider]) => provider.close()));
    expect({ exitCode, stderr, faults }).toEqual({ exitCode: 0, stderr: "", faults: [] });
    expect(picks === "").toBe(!/client|chat|streamText|\.fetch\(\)\(/.test(code));
    expect(stdout === "").toBe(!/console\.log|stdout/.test(code));
  });
});
