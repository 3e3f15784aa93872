import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { CutOff, Isolation } from "./cut-off.ts";
import { isolate } from "./network-namespace.ts";

let isolation: Isolation;
let [one, other]: CutOff[] = [];
const servers: Server[] = [];
beforeEach(async () => {
  isolation = isolate();
  [one, other] = [await isolation.addWay(), await isolation.addWay()];
});
afterEach(async () => {
  for (const server of servers.splice(0)) server.close();
  await isolation[Symbol.asyncDispose]();
});

/** A server behind a way, and a program where it can be cut off that says "x" there over and over. */
async function talkOver(way: CutOff): Promise<{ heard: () => number; isClosed: () => boolean; end: () => void }> {
  let heard = 0;
  let last: Socket | undefined;
  const server = createServer((socket) => {
    last = socket;
    socket.on("error", () => {});
    socket.on("data", () => heard++);
  });
  servers.push(server);
  server.listen(0, way.listenOn[0] ?? "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const { host, port } = await way.leadTo(typeof address === "object" && address !== null ? address.port : 0);
  const program = `
    const socket = require("node:net").connect(${port}, "${host}");
    socket.on("error", (error) => process.exit(error.code === "ECONNRESET" ? 3 : 4));
    setInterval(() => socket.write("x"), 10);`;
  // It becomes the program, so that a signal to it is one to that.
  const child = spawn("env", [...isolation.prefix, process.execPath, "-e", program], { stdio: "ignore" });
  await until(() => heard > 0);
  return { heard: () => heard, isClosed: () => last?.closed === true, end: () => void child.kill("SIGKILL") };
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    if (tries > 600) throw new Error("Waited 12 s in vain");
    await sleep(20);
  }
}

it("cuts one way silently and leaves the other, and all goes on when it is healed", async () => {
  const [cut, whole] = [await talkOver(one as CutOff), await talkOver(other as CutOff)];

  await one?.cut("silent");
  await sleep(50);
  const [cutThen, wholeThen] = [cut.heard(), whole.heard()];
  await sleep(400);
  const [cutNow, wholeNow] = [cut.heard(), whole.heard()];
  const isClosed = cut.isClosed();
  await one?.heal();
  await until(() => cut.heard() > cutNow);
  for (const { end } of [cut, whole]) end();

  expect([cutNow - cutThen, isClosed]).toEqual([0, false]);
  expect(wholeNow - wholeThen).toBeGreaterThan(5);
});

it("leaves nothing behind", async () => {
  const [, , , name] = isolation.prefix;
  const talk = await talkOver(one as CutOff);

  await isolation[Symbol.asyncDispose]();
  talk.end();

  // By relays there is no name, and nothing to leave.
  expect(name === undefined || !existsSync(`/run/netns/${name}`)).toBe(true);
});

it("removes what a run that was killed has left", async () => {
  // No process can have this number.
  const leftover = "keywheel-test-99999999-0";
  if (isolation.prefix.length > 0) execFileSync("ip", ["netns", "add", leftover]);

  await using _ = isolate();

  expect(existsSync(`/run/netns/${leftover}`)).toBe(false);
});
