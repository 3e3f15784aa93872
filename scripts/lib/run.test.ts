import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { run } from "./run.mjs";

it("gives back the command's exit code and, where captured, what it printed", async () => {
  const outcome = await run(process.execPath, ["-e", "console.log('hello'); process.exitCode = 3"], { capture: true });

  expect(outcome).toEqual({ code: 3, output: "hello\n", isInterrupted: false });
});

it("gives a command that a signal ended the exit code a shell gives it", async () => {
  const { code } = await run(process.execPath, ["-e", "process.kill(process.pid, 'SIGKILL')"], { capture: true });

  expect(code).toBe(137);
});

it("hands a signal on and waits for the command to finish in its own way", async () => {
  const command =
    "process.on('SIGTERM', () => { console.log('bye'); process.exit(7) }); setInterval(() => {}, 1000); console.log('up')";
  const wrapper = `
    import { run } from ${JSON.stringify(new URL("./run.mjs", import.meta.url).href)};
    const { code, isInterrupted } = await run(process.execPath, ["-e", ${JSON.stringify(command)}]);
    console.log(isInterrupted);
    process.exitCode = code;
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", wrapper], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child.stdout, "data");

  child.kill("SIGTERM");
  const [code] = await once(child, "close");

  expect({ code, output }).toEqual({ code: 7, output: "up\nbye\ntrue\n" });
});
