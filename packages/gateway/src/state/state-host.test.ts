import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock, SharedState } from "@keywheel/pool";
import { aPolicy, aSession, createFakeClock, keysOf } from "@keywheel/testkit";
import { expect, it } from "vitest";
import { describeSharedState } from "../../../testkit/src/shared-state-suite.ts";
import { LinkedState } from "./linked-state.ts";
import { describeSharing, expectTwinOfMemory, keyOf, reason, ticketOf, until } from "./sharing.test-bench.ts";
import { StateHost } from "./state-host.ts";
import type { LinkListener, StateCall, StateLink } from "./state-link.ts";
import type { Answer, Push } from "./wire.ts";

/** A host, and links to it on which every answer takes a turn of the event loop and all is copied, as between processes. */
class HostBench {
  readonly host: StateHost;
  readonly states: LinkedState[] = [];
  readonly #listeners: LinkListener[] = [];
  readonly #clock: Clock;
  isPaused = false;
  /** How often the host was asked for a choice. */
  choices = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.host = new StateHost({ clock });
    this.host.listen((push) => void this.#push(push));
  }

  async link(): Promise<LinkedState> {
    const connect = async (listener: LinkListener): Promise<StateLink> => {
      this.#listeners.push(listener);
      return {
        isReady: true,
        run: (call) => this.#run(call),
        look: async (id) => this.host.look(id),
        remove: async () => {},
        ping: async () => {},
        close: () => {},
      };
    };
    const state = await LinkedState.open({ clock: this.#clock, connect, patienceMs: 2_000 });
    this.states.push(state);
    return state;
  }

  dispose(): void {
    const troubles = this.states.map((state) => state.trouble);
    for (const state of this.states) state.close();
    // Otherwise all that was shown is what a state does alone.
    if (troubles.some((trouble) => trouble !== undefined)) throw new Error(`not shared: ${troubles.join()}`);
  }

  async #run(call: StateCall): Promise<Answer> {
    if (call.decision === "choose") this.choices++;
    const sent = structuredClone(call);
    while (this.isPaused) await nextTurn();
    const answer = structuredClone(await this.host.run(sent));
    await nextTurn();
    return answer;
  }

  async #push(push: Push): Promise<void> {
    const sent = structuredClone(push);
    await nextTurn();
    for (const { onPush } of this.#listeners) onPush(sent);
  }
}

const systemClock = { now: () => Date.now(), monotonic: () => performance.now() };

/** A linked state as its process has it: what shapes pools is done at the host first. */
function withHost(state: LinkedState, host: StateHost): SharedState {
  return new Proxy(state, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name, target);
      if (typeof own !== "function") return own;
      const method = own.bind(target) as (...parts: unknown[]) => unknown;
      if (name !== "configure" && name !== "remove") return method;
      const atHost = (host[name] as (...parts: unknown[]) => Promise<void>).bind(host);
      return async (...parts: unknown[]) => {
        await atHost(...parts);
        await method(...parts);
      };
    },
  });
}

let bench: HostBench;

describeSharedState("the host's own process", async () => ({
  open: async (clock) => new StateHost({ clock }),
  dispose: async () => {},
}));

describeSharedState("a process that is linked to a host", async () => ({
  open: async (clock) => {
    bench = new HostBench(clock);
    return withHost(await bench.link(), bench.host);
  },
  dispose: async () => bench.dispose(),
}));

describeSharing("a host", async () => {
  bench = new HostBench(systemClock);
  return {
    several: async (count, ...weights) => {
      await bench.host.configure("p", keysOf(...weights), aPolicy());
      const states = await Promise.all(Array.from({ length: count }, () => bench.link()));
      for (const state of states) await state.configure("p", keysOf(...weights), aPolicy());
      return states;
    },
    pause: () => (bench.isPaused = true),
    resume: () => (bench.isPaused = false),
    dispose: async () => bench.dispose(),
  };
});

describeSharing("a host and one that is linked to it", async () => {
  bench = new HostBench(systemClock);
  return {
    several: async (count, ...weights) => {
      await bench.host.configure("p", keysOf(...weights), aPolicy());
      const states = await Promise.all(Array.from({ length: count - 1 }, () => bench.link()));
      for (const state of states) await state.configure("p", keysOf(...weights), aPolicy());
      return [bench.host, ...states];
    },
    pause: () => (bench.isPaused = true),
    resume: () => (bench.isPaused = false),
    dispose: async () => bench.dispose(),
  };
});

it("a linked process decides what memory decides, whatever comes", async () => {
  await expectTwinOfMemory(async (clock) => {
    const own = new HostBench(clock);
    return { state: withHost(await own.link(), own.host), close: () => own.dispose() };
  }, 60);
}, 60_000);

it("asks the host once for a session, and not again", async () => {
  const own = new HostBench(createFakeClock());
  await own.host.configure("p", keysOf(1, 1), aPolicy());
  const state = await own.link();
  await state.configure("p", keysOf(1, 1), aPolicy());

  for (let turn = 0; turn < 5; turn++) await state.choose("p", { session: aSession("s") });

  expect(own.choices).toBe(1);
  own.dispose();
});

it("asks again when a key came free while it was told that there is none", async () => {
  const own = new HostBench(createFakeClock());
  await own.host.configure("p", keysOf(1), aPolicy());
  let isLate = true;
  const connect = async (): Promise<StateLink> => ({
    isReady: true,
    run: async (call) => {
      const answer = await own.host.run(call);
      if (call.decision !== "choose" || !isLate) return answer;
      // What was true when it was asked: another request was trying the only key.
      isLate = false;
      return { n: answer.n, f: answer.f, v: answer.v };
    },
    look: async (id) => own.host.look(id),
    remove: async () => {},
    ping: async () => {},
    close: () => {},
  });
  const state = await LinkedState.open({ clock: createFakeClock(), connect });
  await state.configure("p", keysOf(1), aPolicy());

  expect(keyOf(await state.choose("p", {}))).toBe("A");
  state.close();
});

it("each process writes down the sessions and conversations that it served, and no other", async () => {
  const own = new HostBench(createFakeClock());
  await own.host.configure("p", keysOf(1, 1), aPolicy());
  const state = await own.link();
  await state.configure("p", keysOf(1, 1), aPolicy());
  const print = (name: string) => aSession(name).fingerprint;
  await state.choose("p", { session: aSession("theirs") });
  await state.choose("p", { conversation: { lookups: [], binds: [print("their talk")] } });
  await own.host.choose("p", { session: aSession("own") });
  await own.host.choose("p", { conversation: { lookups: [], binds: [print("own talk")] } });
  await until(async () => (await state.snapshot("p")).reduce((sum, key) => sum + key.boundSessions, 0) === 2);

  expect(own.host.drainTouchedSessions(10).map(({ session }) => session.id)).toEqual([aSession("own").id]);
  expect(state.drainTouchedSessions(10).map(({ session }) => session.id)).toEqual([aSession("theirs").id]);
  expect(own.host.drainPins(10).map(({ fingerprint }) => fingerprint)).toEqual([print("own talk")]);
  expect(state.drainPins(10).map(({ fingerprint }) => fingerprint)).toEqual([print("their talk")]);
  own.dispose();
});

it("a host that hangs is done without, and what was decided meanwhile is not forgotten", async () => {
  const own = new HostBench(systemClock);
  await own.host.configure("p", keysOf(1, 1), aPolicy());
  const whenItRuns = async (): Promise<void> => {
    while (own.isPaused) await nextTurn();
  };
  const connect = async (): Promise<StateLink> => ({
    isReady: true,
    run: async (call) => {
      await whenItRuns();
      return structuredClone(await own.host.run(structuredClone(call)));
    },
    look: async (id) => own.host.look(id),
    remove: async () => {},
    ping: whenItRuns,
    close: () => {},
  });
  const state = await LinkedState.open({ clock: systemClock, connect, patienceMs: 20 });
  await state.configure("p", keysOf(1, 1), aPolicy());
  const ticket = await ticketOf(state, "A");

  own.isPaused = true;
  await state.fail(ticket, { rest: "ladder" }, reason, "key");
  expect(keyOf(await state.choose("p", {}))).toBe("B");
  expect(state.trouble).toBeDefined();
  own.isPaused = false;
  await until(async () => state.trouble === undefined);

  expect((await own.host.snapshot("p"))[0]).toMatchObject({ health: { failures: 1 } });
  expect(keyOf(await own.host.choose("p", {}))).toBe("B");
  state.close();
});
