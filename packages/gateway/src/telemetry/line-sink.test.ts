import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LineSink } from "./line-sink.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keywheel-sink-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function aSinkToFile(options: { holdBackBytes?: number; holdBackMs?: number; mostBytes?: number } = {}) {
  const file = join(folder, "log");
  const descriptor = openSync(file, "w");
  const sink = new LineSink({ descriptor, holdBackBytes: 100, holdBackMs: 60_000, mostBytes: 10_000, ...options });
  return { sink, written: () => readFileSync(file, "utf8"), close: () => closeSync(descriptor) };
}

it("holds lines back until there are enough, then writes them in their order", async () => {
  const { sink, written, close } = aSinkToFile();
  sink.write("first\n");
  expect(written()).toBe("");

  sink.write(`${"x".repeat(100)}\n`);
  sink.write("last\n");
  await sink.flush();

  expect(written()).toBe(`first\n${"x".repeat(100)}\nlast\n`);
  close();
});

it("holds nothing back for ever", async () => {
  const { sink, written, close } = aSinkToFile({ holdBackMs: 1 });

  sink.write("alone\n");
  await expect.poll(written).toBe("alone\n");

  close();
});

it("loses lines rather than memory", async () => {
  const { sink, written, close } = aSinkToFile({ holdBackBytes: 1_000_000, mostBytes: 20 });
  for (let i = 0; i < 10; i++) sink.write(`line ${i}\n`);

  await sink.flush();

  expect(written()).toBe("line 0\nline 1\n");
  close();
});

const script = `
  import { LineSink } from ${JSON.stringify(new URL("./line-sink.ts", import.meta.url).href)};
  const sink = new LineSink({ descriptor: 2, holdBackBytes: 1000, holdBackMs: 10, mostBytes: 1e6 });`;

// A user saw: `keywheel start 2>&1 | head` stood still for good, deaf to every signal.
it("goes on when its reader is gone", () => {
  const program = `${script}
    for (let i = 0; i < 1000; i++) sink.write("x".repeat(1000) + "\\n");
    await sink.flush();
    console.log("still here");`;

  const { stdout, status } = spawnSync(
    "/bin/sh",
    ["-c", '{ "$NODE" --input-type=module -e "$PROGRAM" 2>&1 1>&3 | true; } 3>&1', "sh"],
    { encoding: "utf8", timeout: 10_000, env: { ...process.env, NODE: process.execPath, PROGRAM: program } },
  );

  expect([stdout, status]).toEqual(["still here\n", 0]);
});

it("goes on while its reader does not read, and waits for it no longer than it is told to", async () => {
  const program = `${script}
    for (let i = 0; i < 1000; i++) sink.write("x".repeat(1000) + "\\n");
    const timer = setInterval(() => console.log("turns"), 10);
    await sink.flush(100);
    clearInterval(timer);
    console.log("still here");
    process.exit(0);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk) => (output += String(chunk)));

  // Nobody reads the standard error meanwhile.
  await expect.poll(() => output, { timeout: 4000 }).toMatch(/turns\n(turns\n)*still here\n$/);

  child.stderr.destroy();
  child.kill("SIGKILL");
});
