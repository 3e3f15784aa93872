import { setImmediate as nextTurn } from "node:timers/promises";
import { KeywheelError } from "@keywheel/pool";
import { expect, it } from "vitest";
import { Channel, type Desk } from "./channel.ts";

type Own = {
  readonly asks: { readonly double: { readonly body: number; readonly answer: number } };
  readonly tells: { readonly note: string };
};

/** Two ends of a wire that copies what it carries. */
function aPair(desk: Desk<Own>) {
  const listeners: ((message: unknown) => void)[] = [];
  const end = (own: number, other: number) => ({
    send: (message: object) => {
      const copy: unknown = structuredClone(message);
      setImmediate(() => listeners[other]?.(copy));
    },
    onMessage: (listener: (message: unknown) => void) => (listeners[own] = listener),
  });
  const nobody: Desk<Own> = { answer: { double: async () => 0 }, told: { note: () => {} } };
  return { asker: new Channel<Own, Own>(end(0, 1), nobody), server: new Channel<Own, Own>(end(1, 0), desk) };
}

const doubling: Desk<Own> = { answer: { double: async (number) => 2 * number }, told: { note: () => {} } };

it("answers each question with its own answer, whichever comes first", async () => {
  const { asker } = aPair({
    ...doubling,
    answer: {
      double: async (number) => {
        for (let turn = 0; turn < 10 - number; turn++) await nextTurn();
        return 2 * number;
      },
    },
  });

  expect(await Promise.all([1, 2, 3].map((number) => asker.ask("double", number)))).toEqual([2, 4, 6]);
});

it("keeps what is told in order, and before a question that comes later", async () => {
  const heard: string[] = [];
  const { asker } = aPair({
    answer: { double: async () => heard.length },
    told: { note: (text) => void heard.push(text) },
  });

  for (const text of ["a", "b", "c"]) asker.tell("note", text);

  expect(await asker.ask("double", 0)).toBe(3);
  expect(heard).toEqual(["a", "b", "c"]);
});

it("hands an error on as what it is, so that callers can tell a database that is away", async () => {
  const { asker } = aPair({
    ...doubling,
    answer: {
      double: async (number) => {
        if (number === 1)
          throw new KeywheelError("store_unavailable", "The disk is full", { hint: "Free some space." });
        throw new TypeError("odd");
      },
    },
  });

  await expect(asker.ask("double", 1)).rejects.toMatchObject({
    code: "store_unavailable",
    message: "The disk is full",
    hint: "Free some space.",
  });
  await expect(asker.ask("double", 2)).rejects.toThrow("odd");
});

it("leaves nobody waiting when the other side has ended", async () => {
  const { asker } = aPair({ ...doubling, answer: { double: () => new Promise(() => {}) } });
  const waiting = asker.ask("double", 1);

  asker.close();

  await expect(waiting).rejects.toThrow("has ended");
  await expect(asker.ask("double", 1)).rejects.toThrow("has ended");
});
