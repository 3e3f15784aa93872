import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Relay } from "./relay.ts";

let server: Server;
let heard: string;
let relay: Relay;
const clients: Socket[] = [];
beforeEach(async () => {
  heard = "";
  server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      heard += String(bytes);
      socket.write(`echo ${String(bytes)}`);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  relay = await Relay.to(typeof address === "object" && address !== null ? address.port : 0);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await relay[Symbol.asyncDispose]();
  server.close();
});

interface Client {
  readonly socket: Socket;
  readonly text: () => string;
  readonly errors: string[];
}

function aClient(): Client {
  const socket = connect(relay.port, "127.0.0.1");
  clients.push(socket);
  let text = "";
  const errors: string[] = [];
  socket.on("data", (bytes) => (text += String(bytes)));
  socket.on("error", (error: NodeJS.ErrnoException) => errors.push(error.code ?? ""));
  return { socket, text: () => text, errors };
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    if (tries > 400) throw new Error("Waited 2 s in vain");
    await sleep(5);
  }
}

describe("a relay", () => {
  it("passes both directions on", async () => {
    const client = aClient();
    client.socket.write("hello");
    await until(() => client.text() !== "");

    expect([heard, client.text()]).toEqual(["hello", "echo hello"]);
  });

  it("passes nothing while it is silent, ends no connection, and passes all that was said when it is whole", async () => {
    const old = aClient();
    old.socket.write("one");
    await until(() => old.text() === "echo one");

    await relay.cut("silent");
    old.socket.write("two");
    const fresh = aClient();
    fresh.socket.write("three");
    await sleep(100);
    const [heardMeanwhile, errors] = [heard, [...old.errors, ...fresh.errors]];
    await relay.heal();
    await until(() => old.text() === "echo oneecho two" && fresh.text() === "echo three");

    expect([heardMeanwhile, errors, old.socket.closed]).toEqual(["one", [], false]);
  });

  it("resets its connections and takes none while nobody is to be reached, and takes them on the same port again", async () => {
    const old = aClient();
    old.socket.write("one");
    await until(() => old.text() === "echo one");
    const { port } = relay;

    await relay.cut("unreachable");
    await until(() => old.socket.closed);
    const fresh = aClient();
    await until(() => fresh.socket.closed);
    await relay.heal();
    const later = aClient();
    later.socket.write("two");
    await until(() => later.text() === "echo two");

    expect([old.errors, fresh.errors, relay.port]).toEqual([["ECONNRESET"], ["ECONNREFUSED"], port]);
  });
});
