import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { Results } from "./results.ts";
import { judge, shortTargets } from "./targets.ts";

const out = mkdtempSync(join(tmpdir(), "keywheel-short-bench-"));
afterAll(() => rmSync(out, { recursive: true, force: true }));

it("is not half as fast as it was, beside a bare pass-through in the same minute", async () => {
  const program = join(import.meta.dirname, "main.ts");
  const child = spawn("node", ["--no-warnings", program, "--short", "--out", out], {
    stdio: ["ignore", "inherit", "pipe"],
  });
  let words = "";
  child.stderr.on("data", (bytes) => (words += String(bytes)));
  const [code] = await once(child, "close");

  const results =
    code === 0 || code === 1 ? (JSON.parse(readFileSync(join(out, "results.json"), "utf8")) as Results) : undefined;
  const judged = results === undefined ? [] : shortTargets.map((target) => judge(target, results));
  const missed = judged.filter(({ isMet }) => !isMet).map(({ target, summary }) => [target.name, summary?.median]);
  expect({ code, missed, words: code === 0 ? "" : words }).toEqual({ code: 0, missed: [], words: "" });
  expect(judged).toHaveLength(shortTargets.length);
});
