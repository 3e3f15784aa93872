import { openAiError, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PooledProvider, sharesOf } from "../pooled-provider.ts";
import { healthOf } from "./observed.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

interface SessionView {
  readonly id: string;
  readonly key_id: string;
}

async function sessionsOf(pool: PooledProvider): Promise<SessionView[]> {
  const { data } = await gateway.api<{ data: SessionView[] }>("GET", `/sessions?provider=${pool.record.id}&limit=1000`);
  return data;
}

async function respond(pool: PooledProvider, body: object, session?: string): Promise<{ status: number; id: string }> {
  const response = await pool.send({
    path: "/v1/responses",
    body: { model: "gpt-test", ...body },
    ...(session === undefined ? {} : { session }),
  });
  const { id = "" } = (await response.json()) as { id?: string };
  return { status: response.status, id };
}

/** Binds sessions to the first key, whatever the turn would be. */
async function bindToFirst(pool: PooledProvider, sessions: readonly string[]): Promise<void> {
  const others = pool.keys.slice(1);
  for (const { id } of others) await gateway.api("PATCH", `/keys/${id}`, { enabled: false });
  for (const session of sessions) await pool.turns(1, { session });
  for (const { id } of others) await gateway.api("PATCH", `/keys/${id}`, { enabled: true });
  pool.provider.forget();
}

describe("H. session affinity", () => {
  it("case 78: five turns of a session that go on from each other's stored answers all meet the key that holds them", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    let previous: string | undefined;
    const statuses: number[] = [];
    for (let turn = 0; turn < 5; turn++) {
      const body = { input: `Turn ${turn}`, ...(previous === undefined ? {} : { previous_response_id: previous }) };
      const { status, id } = await respond(pool, body, "s");
      statuses.push(status);
      previous = id;
      await pool.turns(1);
    }

    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(pool.provider.picks((request) => request.path === "/v1/responses")).toBe("AAAAA");
  });

  it("case 78: without a session the stored answer itself leads to its key", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const { id } = await respond(pool, { input: "One" });
    await pool.turns(1);

    const { status } = await respond(pool, { input: "Two", previous_response_id: id });

    expect([status, pool.provider.picks()]).toEqual([200, "ABA"]);
  });

  it("case 78: when its key is gone for good, the next key's own words about it reach the client, and blame nobody", async () => {
    await using pool = await poolOf(gateway);
    const { id } = await respond(pool, { input: "One" }, "s");
    await gateway.api("DELETE", `/keys/${pool.keys[0]?.id}`);

    const response = await pool.send({
      path: "/v1/responses",
      body: { model: "gpt-test", input: "Two", previous_response_id: id },
      session: "s",
    });

    expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([400, null]);
    expect(await response.json()).toMatchObject({ error: { code: "previous_response_not_found" } });
    expect([pool.provider.picks(), ...(await healthOf(gateway, pool))]).toEqual(["AB", "available 0"]);
  });

  it("case 78: reasoning that only its own account can read is refused in the provider's words, and blames nobody", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.on().always(
      openAiError(400, {
        message: "The encrypted content could not be verified.",
        type: "invalid_request_error",
        code: "invalid_encrypted_content",
      }),
    );

    const { status } = await respond(pool, { input: [{ type: "reasoning", encrypted_content: "gAAAA" }] });

    expect([status, pool.provider.picks(), ...(await healthOf(gateway, pool))]).toEqual([
      400,
      "A",
      "available 0",
      "available 0",
    ]);
  });

  const endings: [string, (pool: PooledProvider) => Promise<unknown>][] = [
    ["rests", async (pool) => pool.provider.forKey(pool.valueOf("A")).next(reply.status(429))],
    ["is disabled", (pool) => gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { enabled: false })],
    ["is refused", async (pool) => pool.provider.revoke(pool.valueOf("A"))],
    ["is deleted", (pool) => gateway.api("DELETE", `/keys/${pool.keys[0]?.id}`)],
  ];
  it.each(endings)("case 79: a session whose key %s goes on with another, and stays there", async (_, act) => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    await pool.turns(1, { session: "s" });
    await act(pool);
    pool.provider.forget();

    const turns = await pool.turns(4, { session: "s" });

    expect(turns.replace(/^A/, "")).toBe("BBBB");
    expect((await sessionsOf(pool)).map(({ key_id: key }) => key)).toEqual([pool.keys[1]?.id]);
  });

  it.each(endings)("case 79: so does a conversation that nobody named, when its key %s", async (_, act) => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const messages: object[] = [{ role: "user", content: "Tell me a story" }];
    const say = async (): Promise<void> => {
      await pool.turns(1, { body: { model: "gpt-test", messages } });
      messages.push({ role: "assistant", content: `Part ${messages.length}` }, { role: "user", content: "Go on" });
    };
    await say();
    await act(pool);
    pool.provider.forget();

    for (let turn = 0; turn < 4; turn++) await say();

    expect(pool.provider.picks().replace(/^A/, "")).toBe("BBBB");
  });

  it("case 79: a key whose variable is gone after a restart loses its sessions to another", async () => {
    await using own = await runGateway({ env: { CASE_79_KEY: "sk-test-79-0123456789abcdef" } });
    await using pool = await poolOf(own, { weights: [] });
    pool.provider.accept("sk-test-79-0123456789abcdef");
    pool.provider.accept("sk-test-79-other-0123456789abcdef");
    await own.addKeys(pool.record, ["$CASE_79_KEY", "sk-test-79-other-0123456789abcdef"]);
    const seen = (): (string | undefined)[] => pool.provider.requests.map((request) => request.key);
    await pool.turns(1, { session: "s" });

    await own.restart({ env: {} });
    await pool.turns(2, { session: "s" });

    const [first, ...later] = seen();
    expect(first).toBe("sk-test-79-0123456789abcdef");
    expect(later).toEqual(["sk-test-79-other-0123456789abcdef", "sk-test-79-other-0123456789abcdef"]);
    expect((await own.keys(pool.record)).map((key) => key.status)).toEqual(["unresolved", "available"]);
  });

  it("case 80: thirty sessions whose key rests spread 15 and 15, and stay where they are when it is back", async () => {
    const settings = { cooldown: { base_ms: 1_500, cap_ms: 1_500 } };
    await using pool = await poolOf(gateway, { weights: [1, 1, 1], settings });
    const sessions = Array.from({ length: 30 }, (_, at) => `s-${at}`);
    await bindToFirst(pool, sessions);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    const sessionTurns = async (): Promise<string[]> => {
      const served: string[] = [];
      for (const session of sessions) served.push((await pool.turns(1, { session })).at(-1) ?? "");
      return served;
    };

    const moved = await sessionTurns();
    await pool.becomes("A", "available");
    const after = await sessionTurns();

    expect(sharesOf(moved.join(""))).toBe("B".repeat(15) + "C".repeat(15));
    expect(after).toEqual(moved);
    expect((await gateway.keys(pool.record)).map((key) => key.bound_sessions)).toEqual([0, 15, 15]);
  });

  // That a million sessions stay in bounded memory is tested beside the table that holds them (binding-table.test.ts).
  it("case 81: names of single requests make no session, however many there are", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    for (let batch = 0; batch < 10; batch++) {
      const requests = Array.from({ length: 20 }, (_, at) => {
        const id = `r-${batch}-${at}`;
        return pool.send({
          headers: {
            "x-request-id": id,
            traceparent: `00-${id.padEnd(32, "0")}-0000000000000001-01`,
            "x-correlation-id": id,
          },
        });
      });
      await Promise.all(requests.map(async (response) => (await response).arrayBuffer()));
    }

    expect(await sessionsOf(pool)).toEqual([]);
    expect(sharesOf(pool.provider.picks())).toBe("A".repeat(100) + "B".repeat(100));
  });

  it("case 81: a session is held under a short name, however long the client's is; one beyond all measure is none", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });

    const long = await pool.turns(2, { headers: { "x-session-id": "x".repeat(1_000) } });
    const beyond = await pool.turns(2, { headers: { "x-session-id": "x".repeat(8_000) } });
    const sessions = await sessionsOf(pool);

    expect([long, sharesOf(beyond)]).toEqual(["AA", "AB"]);
    expect(sessions).toHaveLength(1);
    expect(sessions[0]?.id).toMatch(/^ses_.{1,90}$/);
  });

  it("case 82: a session that is used every half of its idle time lives on", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1], settings: { affinity: { idle_ttl_ms: 1_000 } } });
    const began = performance.now();
    let turns = "";
    while (performance.now() - began < 2_600) {
      turns += await pool.turns(1, { session: "s" });
      // Real time: the limit is the program's own, and what is tested is that use puts it off.
      await new Promise((resolve) => setTimeout(resolve, 400));
    }

    expect(turns).toMatch(/^A{5,}$/);
  });

  it("case 84: a session that was ended takes the next turn of the wheel", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    await pool.turns(2, { session: "s" });

    const response = await gateway.apiResponse("DELETE", "/sessions/s");

    expect([response.ok, await pool.turns(2, { session: "s" })]).toEqual([true, "BB"]);
  });

  it("case 84: to end a session that nobody knows, or to end one twice, is no error", async () => {
    await using pool = await poolOf(gateway);
    await pool.turns(1, { session: "twice" });

    const statuses: boolean[] = [];
    for (const id of ["nobodys", "twice", "twice", "ses_0000", "%20"]) {
      statuses.push((await gateway.apiResponse("DELETE", `/sessions/${id}`)).ok);
    }

    expect(statuses).toEqual([true, true, true, true, true]);
  });
});
