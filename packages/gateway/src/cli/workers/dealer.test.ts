import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Dealer, type Taker } from "./dealer.ts";

let dealer: Dealer;
const clients: Socket[] = [];
const takers: TestTaker[] = [];
beforeEach(async () => {
  dealer = new Dealer();
  await dealer.listen({ host: "127.0.0.1", port: 0 });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  for (const { handed } of takers.splice(0)) for (const { id } of handed) dealer.arrived(id);
  await dealer.close();
});

interface TestTaker extends Taker {
  connections: number;
  isSilent: boolean;
  readonly handed: { readonly id: number; readonly socket: Socket }[];
}

function aTaker(connections = 0): TestTaker {
  const taker: TestTaker = {
    connections,
    isSilent: false,
    handed: [],
    hand: (id, socket) => {
      taker.connections++;
      taker.handed.push({ id, socket });
    },
  };
  takers.push(taker);
  return taker;
}

async function clientsCome(count: number): Promise<Socket[]> {
  const come = await Promise.all(
    Array.from({ length: count }, async () => {
      const client = connect(Number(new URL(dealer.url).port), "127.0.0.1");
      client.on("error", () => {});
      clients.push(client);
      await once(client, "connect");
      return client;
    }),
  );
  await pause(30);
  return come;
}

it("deals to whoever serves the fewest, in turn among equals", async () => {
  const [busy, one, other] = [aTaker(4), aTaker(), aTaker()];
  for (const taker of [busy, one, other]) dealer.add(taker);

  await clientsCome(6);

  expect([busy, one, other].map(({ handed }) => handed.length)).toEqual([0, 3, 3]);
});

it("leaves alone who is silent, as long as somebody else is there", async () => {
  const [silent, busy] = [aTaker(), aTaker(10)];
  silent.isSilent = true;
  dealer.add(silent);
  dealer.add(busy);
  await clientsCome(2);
  dealer.remove(busy);
  await clientsCome(1);

  expect([silent.handed.length, busy.handed.length]).toEqual([3, 2]);
});

it("keeps those that come while nobody is there for the first who is", async () => {
  const come = await clientsCome(3);
  const taker = aTaker();
  dealer.add(taker);

  expect(taker.handed).toHaveLength(3);
  expect(come.every((client) => !client.destroyed)).toBe(true);
});

it("gives what has not arrived to another one when its taker dies, and nothing that has", async () => {
  const [dying, other] = [aTaker(), aTaker(100)];
  dealer.add(dying);
  dealer.add(other);
  await clientsCome(4);
  const [arrived, ...lost] = dying.handed;
  dealer.arrived(arrived?.id ?? 0);

  dealer.remove(dying);

  expect(other.handed.map(({ socket }) => socket)).toEqual(lost.map(({ socket }) => socket));
  // The other process has it now: here it is let go of.
  expect(arrived?.socket.destroyed).toBe(true);
});

it("says when its address cannot be had", async () => {
  const port = Number(new URL(dealer.url).port);

  await expect(new Dealer().listen({ host: "127.0.0.1", port })).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use`);
});
