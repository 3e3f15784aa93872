import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { Connections } from "./connections.ts";

function someSockets(connections: Connections, count: number): PassThrough[] {
  return Array.from({ length: count }, () => {
    const socket = new PassThrough();
    connections.add(socket);
    return socket;
  });
}

it("gives the place of the one that is idle for longest to a new one", () => {
  const connections = new Connections(3);
  const [first, second, third] = someSockets(connections, 3);
  connections.began(first!);
  connections.began(second!);
  connections.ended(second!);

  someSockets(connections, 1);

  expect([first, second, third].map((socket) => socket?.destroyed)).toEqual([false, false, true]);
  someSockets(connections, 1);
  expect(second?.destroyed).toBe(true);
  expect(connections.size).toBe(3);
});

it("lets a new one in where all are busy: its request is refused with words", () => {
  const connections = new Connections(2);
  const busy = someSockets(connections, 2);
  for (const socket of busy) connections.began(socket);

  const [late] = someSockets(connections, 1);

  expect([...busy, late].some((socket) => socket?.destroyed)).toBe(false);
});

it("knows a connection as busy until the last of its requests has ended", () => {
  const connections = new Connections(1);
  const [socket] = someSockets(connections, 1);
  connections.began(socket!);
  connections.began(socket!);
  connections.ended(socket!);
  expect(connections.isBusy(socket!)).toBe(true);
  connections.closeIdle();
  expect(socket?.destroyed).toBe(false);

  connections.ended(socket!);

  expect(connections.isBusy(socket!)).toBe(false);
  connections.closeIdle();
  expect(socket?.destroyed).toBe(true);
});

it("is crowded shortly before it is full, and forgets those that are gone", async () => {
  const connections = new Connections(10);
  const sockets = someSockets(connections, 10);
  expect(connections.isCrowded).toBe(true);

  sockets[0]?.destroy();
  await new Promise((resolve) => sockets[0]?.once("close", resolve));

  expect(connections.size).toBe(9);
  expect(connections.isCrowded).toBe(false);
  connections.remove(sockets[1]!);
  connections.ended(sockets[1]!);
  expect(connections.isBusy(sockets[1]!)).toBe(false);
});
