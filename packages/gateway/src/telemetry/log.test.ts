import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { createLog, type LogFormat, type LogLevel } from "./log.ts";

function aLog({ level = "debug", format = "json" }: { level?: LogLevel; format?: LogFormat } = {}) {
  const lines: string[] = [];
  const redact = (line: string): string => line.replaceAll("hunter2", "[redacted]");
  return { ...createLog({ level, format, color: false, redact, sink: (line) => lines.push(line) }), lines };
}

describe("as JSON", () => {
  it("writes one object a line, with a level in words and a time in UTC", () => {
    const { log, lines } = aLog();

    log.info({ port: 8787 }, "Serving");

    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\{.*\}\n$/);
    expect(JSON.parse(lines[0] ?? "")).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      port: 8787,
      msg: "Serving",
    });
  });

  it("redacts fields, messages, and errors with their causes", () => {
    const { log, lines } = aLog();

    log.warn({ header: "hunter2", err: new Error("bad hunter2", { cause: new Error("hunter2") }) }, "key hunter2");

    expect(lines.join("")).not.toContain("hunter2");
    expect(lines.join("")).toContain("bad [redacted]");
  });

  it("leaves out what is below its level", () => {
    const { log, lines, isWritten } = aLog({ level: "warn" });

    log.info({}, "no");
    log.warn({}, "yes");

    expect(lines).toHaveLength(1);
    expect([isWritten("info"), isWritten("error")]).toEqual([false, true]);
  });
});

describe("for people", () => {
  it("puts time, level, message and fields in one line", () => {
    const { log, lines } = aLog({ format: "pretty" });

    log.info({ path: "/openai", status: 200, note: "two words" }, "Served");

    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d info  Served path=\/openai status=200 note="two words"\n$/);
  });

  it("shows the stack of an error below, redacted", () => {
    const { log, lines } = aLog({ format: "pretty" });

    log.error({ err: new TypeError("no hunter2") }, "Failed");

    expect(lines[0]).toMatch(/Failed\n {4}TypeError: no \[redacted\]\n {8}at /);
  });
});

it("has written everything when the process ends right after a flush", () => {
  const script = `
    import { createLog } from ${JSON.stringify(new URL("./log.ts", import.meta.url).href)};
    const { log, flush } = createLog({ level: "info", format: "json", color: false, redact: (s) => s, sink: 2 });
    log.info({}, "first");
    log.error({}, "last");
    await flush();
    process.exit(3);`;

  const { stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });

  expect(status).toBe(3);
  expect(
    stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).msg),
  ).toEqual(["first", "last"]);
});
