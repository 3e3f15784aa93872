import { aPolicy, aSession, createFakeClock, keysOf } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { describePoolState } from "../../../testkit/src/shared-state-suite.ts";
import { PlainState } from "./plain-state.ts";

describePoolState("a program's own pool", async () => ({
  open: async (clock) => new PlainState({ clock, maxBindings: 1_000 }),
  dispose: async () => {},
}));

describe("a program's own pool", () => {
  it("lets go of the sessions that were used least recently when there are too many", async () => {
    const state = new PlainState({ clock: createFakeClock(), maxBindings: 2 });
    await state.configure("p", keysOf(1, 1, 1), aPolicy());
    const why = (name: string): string => {
      const choice = state.choose("p", { session: aSession(name) });
      return choice.kind === "key" ? `${choice.keyId} ${choice.why}` : choice.kind;
    };

    expect(["one", "two", "one", "three"].map(why)).toEqual(["A turn", "B turn", "A session", "C turn"]);

    expect(["one", "two"].map(why)).toEqual(["A session", "A turn"]);
  });

  it("lets go of what has idled out, once it is swept, and of what has ended", async () => {
    const clock = createFakeClock();
    const state = new PlainState({ clock, maxBindings: 100 });
    const policy = aPolicy({ affinity: { enabled: true, idleTtlMs: 1_000 } });
    await state.configure("p", keysOf(1, 1), policy);
    for (const name of ["one", "two"]) state.choose("p", { session: aSession(name) });
    clock.advance(600);
    state.choose("p", { session: aSession("two") });
    clock.advance(600);

    expect(await state.sweepIdle()).toBe(1);
    expect((await state.snapshot("p")).map(({ boundSessions }) => boundSessions)).toEqual([0, 1]);
    await state.configure("p", keysOf(1), policy);
    expect(await state.sweepIdle()).toBe(1);
  });
});
