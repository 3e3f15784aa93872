import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { relay } from "./upgrade-relay.ts";

/** One end of a connection, whose other end says what it is told and takes what it likes. */
class FarEnd extends Duplex {
  readonly #takes: boolean;

  constructor(takes: boolean) {
    super({ highWaterMark: 1_000 });
    this.#takes = takes;
  }

  override _read(): void {}

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    if (this.#takes) done();
  }
}

it.each([
  ["client", "gone"],
  ["provider", "truncated"],
] as const)("breaks off what a %s does not read, and the other side with it", async (stuck, ending) => {
  const [client, provider] = [new FarEnd(stuck !== "client"), new FarEnd(stuck !== "provider")];
  const over = relay({ client, provider, early: [], unreadMs: 40 });

  (stuck === "client" ? provider : client).push(Buffer.alloc(5_000));

  expect(await over).toMatchObject({ ending });
  expect([client.destroyed, provider.destroyed]).toEqual([true, true]);
});

it("leaves alone what both sides read, however long they are silent", async () => {
  const [client, provider] = [new FarEnd(true), new FarEnd(true)];
  const over = relay({ client, provider, early: [], unreadMs: 20 });
  provider.push(Buffer.alloc(5_000));

  const first = await Promise.race([over, new Promise((resolve) => setTimeout(() => resolve("open"), 100))]);

  expect(first).toBe("open");
  client.destroy();
  expect(await over).toMatchObject({ providerBytes: 5_000, ending: "gone" });
});
