import { aPolicy, createFakeClock, keysOf } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { MemoryState } from "../memory/packed-state.ts";
import type { Conversation } from "./conversation/places.ts";
import { openingOf as openingInBytes } from "./conversation.ts";
import { conversationReaders } from "./conversation-readers.test-bench.ts";

type Body = Readonly<Record<string, unknown>>;

const encoder = new TextEncoder();

const user = (content: unknown): Body => ({ role: "user", content });
const assistant = (content: unknown): Body => ({ role: "assistant", content });
const chat = (...messages: readonly unknown[]): Body => ({ model: "gpt-5", messages });
const text = (words: string, more: Body = {}): Body => ({ type: "text", text: words, ...more });
const cached = { cache_control: { type: "ephemeral" } };

/** How each API's clients write turn n of a conversation, all turns before it included. */
const apis: Readonly<Record<string, (turn: number) => Body>> = {
  "OpenAI chat": (turn) => ({
    model: "gpt-5",
    stream: true,
    messages: [
      { role: "system", content: "Be brief." },
      ...turns(
        turn,
        (i) => [assistant(`answer ${i}`)],
        (i) => user(`question ${i}`),
      ),
    ],
  }),
  "OpenAI chat with tools": (turn) => ({
    messages: turns(
      turn,
      (i) => [
        {
          role: "assistant",
          content: null,
          refusal: null,
          tool_calls: [1, 2].map((n) => ({
            id: `call_${i}_${n}`,
            type: "function",
            function: { name: "read", arguments: `{"path":"${i}/${n}"}` },
          })),
        },
        { role: "tool", tool_call_id: `call_${i}_1`, content: `text of ${i}/1` },
      ],
      (i) => (i === 0 ? user("look") : { role: "tool", tool_call_id: `call_${i}_2`, content: `text of ${i}/2` }),
    ),
    tools: [{ type: "function", function: { name: "read", parameters: { type: "object" } } }],
  }),
  "OpenAI responses": (turn) => ({
    instructions: "Be brief.",
    input: turns(
      turn,
      (i) => [
        { type: "reasoning", id: `rs_${i}`, summary: [], encrypted_content: "gAAA" },
        {
          type: "message",
          id: `msg_${i}`,
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: `answer ${i}`, annotations: [] }],
        },
      ],
      (i) => user([{ type: "input_text", text: `question ${i}` }]),
    ),
  }),
  "OpenAI responses with tools": (turn) => ({
    input: turns(
      turn,
      (i) => [
        { type: "reasoning", id: `rs_${i}`, summary: [], encrypted_content: "gAAA" },
        { type: "function_call", id: `fc_${i}`, call_id: `call_${i}`, name: "shell", arguments: `{"n":${i}}` },
      ],
      (i) => (i === 0 ? user("look") : { type: "function_call_output", call_id: `call_${i - 1}`, output: `done ${i}` }),
    ),
  }),
  "OpenAI responses begun with a text": (turn) =>
    turn === 0
      ? { input: "question 0" }
      : {
          input: turns(
            turn,
            (i) => [assistant(`answer ${i}`)],
            (i) => user(`question ${i}`),
          ),
        },
  // The marker is moved to the newest message, thoughts are kept for the last answer only.
  "Anthropic messages": (turn) => ({
    system: [text("You are careful.", cached)],
    messages: turns(
      turn,
      (i) => [
        assistant([
          ...(i === turn - 1 ? [{ type: "thinking", thinking: `hm ${i}`, signature: "Eq" }] : []),
          text(`I will look ${i}`),
          { type: "tool_use", id: `toolu_${i}`, name: "read", input: { path: `${i}`, id: i } },
        ]),
      ],
      (i) =>
        user([
          i === 0
            ? text("look", i === turn ? cached : {})
            : {
                type: "tool_result",
                tool_use_id: `toolu_${i - 1}`,
                content: `found ${i}`,
                ...(i === turn ? cached : {}),
              },
        ]),
    ),
  }),
  "Gemini contents": (turn) => ({
    systemInstruction: { parts: [{ text: "Be brief." }] },
    contents: turns(
      turn,
      (i) => [
        {
          role: "model",
          parts: [
            ...(i === turn - 1 ? [{ text: `hm ${i}`, thought: true }] : []),
            { functionCall: { name: "look", args: { at: i } }, thoughtSignature: i === turn - 1 ? "Cs" : undefined },
          ],
        },
      ],
      (i) =>
        i === 0
          ? { role: "user", parts: [{ text: "look" }] }
          : { role: "user", parts: [{ functionResponse: { name: "look", response: { found: i } } }] },
    ),
  }),
};

function turns(last: number, answer: (i: number) => readonly unknown[], question: (i: number) => unknown): unknown[] {
  const messages: unknown[] = [question(0)];
  for (let i = 1; i <= last; i++) messages.push(...answer(i - 1), question(i));
  return messages;
}

describe.each(conversationReaders)("read from %s:", (_, { conversationOf, openingOf }) => {
  function conversation(body: Body | string, scope = "pool\ntoken"): Conversation {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const found = conversationOf(scope, encoder.encode(text));
    if (found === undefined) throw new Error(`no conversation in ${text}`);
    return found;
  }

  /** Whether a request is found to continue another. */
  function continues(later: Body | string, earlier: Body | string): boolean {
    const { binds } = conversation(earlier);
    return conversation(later).lookups.some((lookup) => binds.some((bind) => same(lookup, bind)));
  }

  function same(one: { high: number; low: number }, other: { high: number; low: number }): boolean {
    return one.high === other.high && one.low === other.low;
  }

  /** The place among the lookups at which an earlier request is found, -1 if it is not. */
  function foundAt(later: Body, earlier: Body): number {
    const [bind] = conversation(earlier).binds;
    return conversation(later).lookups.findIndex((lookup) => bind !== undefined && same(lookup, bind));
  }

  describe("a turn of a conversation", () => {
    it.each(Object.entries(apis))("of %s is found by the next one, before all earlier ones", (_, turn) => {
      for (let n = 1; n <= 10; n++) {
        const found = [n - 1, n - 2, n - 3]
          .filter((earlier) => earlier >= 0)
          .map((earlier) => foundAt(turn(n), turn(earlier)));

        expect(found).not.toContain(-1);
        expect(found).toEqual(found.toSorted((one, other) => one - other));
      }
    });

    it.each(Object.entries(apis))("of %s is found by each later one", (_, turn) => {
      for (let n = 1; n <= 10; n++) expect(continues(turn(10), turn(n))).toBe(true);
    });

    it.each(Object.entries(apis))("of %s does not find a later one", (_, turn) => {
      expect(continues(turn(3), turn(4))).toBe(false);
    });

    it("is found where one message or content stands without its array, as Gemini takes it", () => {
      const first = { contents: { parts: { text: "hi" } } };
      const second = {
        contents: [
          { role: "user", parts: [{ text: "hi" }] },
          { role: "model", parts: [{ text: "Hello" }] },
          { role: "user", parts: { text: "more" } },
        ],
      };

      expect(continues(second, first)).toBe(true);
    });

    it("is found after five thousand messages", () => {
      const long = (turn: number): Body =>
        chat(
          ...turns(
            turn,
            (i) => [assistant(`a${i}`)],
            (i) => user(`q${i}`),
          ),
        );

      expect(foundAt(long(2_500), long(2_499))).toBe(1);
      expect(continues(long(2_500), long(2_470))).toBe(true);
      expect(continues(long(2_500), long(0))).toBe(true);
      expect(conversation(long(2_500)).lookups.length).toBeLessThan(150);
    });

    it("is found behind a hundred results of tools that came in one go", () => {
      const results = Array.from({ length: 100 }, (_, i) => ({
        role: "tool",
        tool_call_id: `c${i}`,
        content: `r${i}`,
      }));
      const calls = {
        role: "assistant",
        tool_calls: results.map((_, i) => ({ id: `c${i}`, function: { name: "f", arguments: `${i}` } })),
      };

      expect(continues(chat(user("go"), calls, ...results), chat(user("go")))).toBe(true);
    });
  });

  describe("a first turn", () => {
    const opening = "How are you?";

    it.each<[string, Body]>([
      ["of chat", chat(user(opening))],
      ["with a system message", chat({ role: "system", content: "s" }, user(opening))],
      ["of messages", { system: "s", messages: [user([text(opening)])] }],
      ["of responses", { instructions: "s", input: opening }],
      ["of Gemini", { contents: [{ parts: [{ text: opening }] }] }],
      ["behind a greeting", chat({ role: "system", content: "s" }, assistant("Hello, how can I help?"), user(opening))],
    ])("%s does not find its own text", (_, body) => {
      expect(conversation(body).binds.length).toBeGreaterThan(0);
      expect(continues(body, body)).toBe(false);
    });

    it("looks for nothing", () => {
      expect(conversation(chat(user(opening))).lookups).toEqual([]);
    });

    it("is continued by a second message that no answer came before", () => {
      expect(continues(chat(user("one"), user("two")), chat(user("one")))).toBe(true);
    });

    it("with the same system message is no continuation of a request that held only that", () => {
      const system = { role: "system", content: "s" };

      expect(continues(chat(system, user("one")), chat(system))).toBe(false);
    });
  });

  describe("a later turn", () => {
    const history = [user("one"), assistant("1"), user("two")];

    it("that is sent again finds itself", () => {
      expect(foundAt(chat(...history), chat(...history))).toBe(0);
    });

    it("whose last question was edited is found by what came before", () => {
      const edited = chat(...history.slice(0, 2), user("three"));

      expect(continues(edited, chat(...history))).toBe(false);
      expect(continues(edited, chat(user("one")))).toBe(true);
    });

    it("that the model shall go on with is found by the same history with the whole answer", () => {
      const begun = chat(...history, assistant("2 and"));

      expect(continues(chat(...history, assistant("2 and more"), user("three")), begun)).toBe(true);
      expect(continues(begun, chat(...history))).toBe(true);
    });

    it.each<[string, Body]>([
      ["another first question", chat(user("ONE"), ...history.slice(1), assistant("2"), user("three"))],
      ["another answer", chat(history[0], assistant("uno"), history[2], assistant("2"), user("three"))],
      ["another author", chat(history[0], user("1"), history[2], assistant("2"), user("three"))],
      ["a system message before it", chat({ role: "system", content: "s" }, ...history, assistant("2"), user("three"))],
      ["its front cut off", chat(history[2], assistant("2"), user("three"))],
      [
        "an image in its place",
        chat(user([{ type: "image_url", image_url: { url: "data:,1" } }]), ...history.slice(1), user("three")),
      ],
    ])("does not continue one with %s", (_, later) => {
      expect(continues(later, chat(...history))).toBe(false);
    });

    it("does not continue one in which a tool was asked for something else", () => {
      const asked = (id: number): unknown[] => [
        user("go"),
        assistant([{ type: "tool_use", id: "t", name: "get", input: { id } }]),
        user([{ type: "tool_result", tool_use_id: "t", content: "ok" }]),
      ];

      expect(continues({ messages: [...asked(1), assistant("done"), user("more")] }, { messages: asked(1) })).toBe(
        true,
      );
      expect(continues({ messages: [...asked(1), assistant("done"), user("more")] }, { messages: asked(2) })).toBe(
        false,
      );
    });

    it("does not continue that of another scope", () => {
      const { binds } = conversation(chat(user("one")), "a");

      expect(conversation(chat(...history), "b").lookups).not.toContainEqual(binds[0]);
      expect(conversation(chat(...history), "a").lookups).toContainEqual(binds[0]);
    });
  });

  describe("instructions beside the messages", () => {
    const ask = (system: unknown, ...messages: readonly unknown[]): Body => ({ system, messages });
    const later = [user("hi"), assistant("Hello"), user("more")];

    it("tell two openings of the same words apart, whichever came last", () => {
      const [first] = conversation(ask("You are A", user("hi"))).binds;
      const [second] = conversation(ask("You are B", user("hi"))).binds;

      expect(first).not.toEqual(second);
      expect(conversation(ask("You are A", ...later)).lookups.slice(2)).toEqual(
        conversation(ask("You are A", user("hi"))).binds,
      );
    });

    it.each<[string, unknown]>([
      ["changed", "Today is Tuesday"],
      ["left out", undefined],
    ])("do not keep a turn from being found when they are %s", (_, system) => {
      expect(continues(ask(system, ...later), ask("Today is Monday", user("hi")))).toBe(true);
    });

    it("are the same with a cache marker", () => {
      expect(conversation(ask([text("s", cached)], user("hi")))).toEqual(conversation(ask("s", user("hi"))));
    });
  });

  describe("what clients change between turns", () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
    const item = (more: Body): Body => ({
      input: [
        user("x"),
        { type: "function_call", name: "f", arguments: "{}", ...more },
        { type: "function_call_output", output: "o" },
      ],
    });
    const said = (message: Body): Body => chat(user("x"), message, user("y"));

    it.each<[string, Body, Body]>([
      ["a text or one part of text", chat(user("x")), chat(user([text("x")]))],
      [
        "a text or one part of text in a tool's result",
        chat(user([{ type: "tool_result", content: "x" }])),
        chat(user([{ type: "tool_result", content: [text("x")] }])),
      ],
      [
        "a text or one item",
        { input: "x" },
        { input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "x" }] }] },
      ],
      ["a cache marker", chat(user([text("x")])), chat(user([text("x", cached)]))],
      [
        "a cache marker of Bedrock",
        chat(user([{ text: "x" }])),
        chat(user([{ text: "x" }, { cachePoint: { type: "default" } }])),
      ],
      ["a cache marker on a message", chat(user("x")), chat({ ...user("x"), ...cached })],
      [
        "the id of a call",
        said({ role: "assistant", tool_calls: [call] }),
        said({ role: "assistant", tool_calls: [{ ...call, id: "d" }] }),
      ],
      [
        "the id that a result names",
        chat({ role: "tool", tool_call_id: "a", content: "x" }),
        chat({ role: "tool", tool_call_id: "b", content: "x" }),
      ],
      [
        "the id of a tool's use",
        said(assistant([{ type: "tool_use", id: "a", name: "f", input: {} }])),
        said(assistant([{ type: "tool_use", id: "b", name: "f", input: {} }])),
      ],
      ["ids and state of an item", item({}), item({ id: "fc_1", call_id: "call_1", status: "completed" })],
      ["a participant's name", chat(user("x")), chat({ ...user("x"), name: "bob" })],
      [
        "null fields",
        said(assistant("a")),
        said({ ...assistant("a"), refusal: null, audio: null, function_call: null, tool_calls: null }),
      ],
      [
        "empty fields",
        said(assistant("a")),
        said({ ...assistant("a"), annotations: [], tool_calls: [], reasoning_content: "" }),
      ],
      [
        "content that is null, empty or left out",
        said({ role: "assistant", tool_calls: [call] }),
        said({ role: "assistant", content: "", tool_calls: [call] }),
      ],
      [
        "annotations",
        said(assistant([{ type: "output_text", text: "a" }])),
        said(assistant([{ type: "output_text", text: "a", annotations: [{ url: "u" }], logprobs: [] }])),
      ],
      [
        "a flag that is false",
        chat(user([{ type: "tool_result", content: "x" }])),
        chat(user([{ type: "tool_result", content: "x", is_error: false }])),
      ],
      [
        "thoughts",
        said(assistant([text("a")])),
        said(
          assistant([
            { type: "thinking", thinking: "hm", signature: "s" },
            { type: "redacted_thinking", data: "d" },
            text("a"),
          ]),
        ),
      ],
      [
        "thoughts beside the content",
        said(assistant("a")),
        said({ ...assistant("a"), reasoning_content: "hm", reasoning_details: [{ text: "hm" }] }),
      ],
      [
        "an answer that was only thought",
        chat(user("x"), user("y"), assistant("z"), user("w")),
        chat(user("x"), assistant([{ type: "thinking", thinking: "hm" }]), user("y"), assistant("z"), user("w")),
      ],
      [
        "items of thought",
        { input: [user("x"), assistant("a"), user("y")] },
        {
          input: [
            user("x"),
            { type: "reasoning", id: "r", encrypted_content: "e", summary: [text("s")] },
            assistant("a"),
            user("y"),
          ],
        },
      ],
      [
        "signatures of thoughts",
        { contents: [{ parts: [{ text: "x", thoughtSignature: "s" }] }] },
        { contents: [{ role: "user", parts: [{ text: "x" }] }] },
      ],
      ["the model", chat(user("x")), { ...chat(user("x")), model: "gpt-5-mini" }],
      [
        "tools and settings",
        chat(user("x")),
        { ...chat(user("x")), tools: [{ name: "t" }], temperature: 1, metadata: { user_id: "u" } },
      ],
      ["the place of the messages", { messages: [user("x")], stream: true }, { stream: true, messages: [user("x")] }],
    ])("is not part of the conversation: %s", (_, one, other) => {
      expect(conversation(other).binds).toEqual(conversation(one).binds);
    });

    it.each<[string, string, string]>([
      ["the order of fields", `{"role":"user","content":"x"}`, `{"content":"x","role":"user"}`],
      ["space", `{"role":"user","content":"x"}`, ` {\n "role" : "user",\t"content":\r"x" } `],
      [
        "escapes that need not be",
        `{"role":"user","content":"é/€😀 ok"}`,
        String.raw`{"role":"user","content":"\u00e9\/\u20AC\ud83d\uDE00 \u006fk"}`,
      ],
      ["escapes in names", `{"role":"user","content":"x"}`, String.raw`{"r\u006fle":"user","content":"x"}`],
      [
        "spellings of an escape",
        String.raw`{"role":"user","content":"a\n\"b\"\\\t"}`,
        String.raw`{"role":"user","content":"a\u000a\u0022b\u0022\u005c\u0009"}`,
      ],
      [
        "spellings of a number",
        `{"role":"user","content":[{"n":[1,0,0.5,100,-3,120]}]}`,
        `{"role":"user","content":[{"n":[1.0,-0.0,5e-1,1E+2,-30e-1,0.12e3]}]}`,
      ],
    ])("is not how the same is written: %s", (_, one, other) => {
      expect(conversation(`{"messages":[${other}]}`)).toEqual(conversation(`{"messages":[${one}]}`));
    });

    it.each<[string, unknown, unknown]>([
      ["one text and two", "ab", [text("a"), text("b")]],
      ["parts in another order", [text("a"), text("b")], [text("b"), text("a")]],
      ["numbers", [{ n: 1 }], [{ n: 10 }]],
      ["signs", [{ n: 1 }], [{ n: -1 }]],
      ["digits with zeros", [{ n: 105 }], [{ n: 15 }]],
      ["a number and its text", [{ n: 1 }], [{ n: "1" }]],
      ["true and a text", [{ n: true }], [{ n: "true" }]],
      ["nested arrays", [{ n: [[1], 2] }], [{ n: [[1, 2]] }]],
      ["values of two fields changed over", [{ a: "x", b: "y" }], [{ a: "y", b: "x" }]],
      ["what ends in a zero character", "a", "a\u0000"],
      ["one space more", "a b", "a  b"],
      ["seven and eight bytes", "1234567", "12345678"],
      ["an escaped quote and a backslash", 'a"', "a\\"],
    ])("does not make one of %s", (_, one, other) => {
      expect(conversation(chat(user(other))).binds).not.toEqual(conversation(chat(user(one))).binds);
    });
  });

  describe("no conversation", () => {
    it.each([
      "",
      "null",
      "[]",
      "{}",
      '"messages"',
      '{"messages":null}',
      '{"messages":5}',
      '{"messages":[]}',
      '{"messages":["hi"]}',
      '{"messages":[{"role":"user","content":""}]}',
      '{"messages":[{"role":"assistant","content":"Hello"}]}',
      '{"input":["to embed","this too"]}',
      '{"input":[1,2,3]}',
      '{"prompt":"Once upon a time"}',
      '{"input":"more","previous_response_id":"resp_1"}',
      '{"input":[{"role":"user","content":"more"}],"conversation":"conv_1"}',
    ])("is in %s", (body) => {
      expect(conversationOf("p", encoder.encode(body))).toBeUndefined();
    });

    const whole = '{"a":[1,{"b":"\\""}],"messages":[{"role":"user","content":[{"n":-1.5e3,"t":true,"s":"\\u00e9"}]}]}';

    it("is in a body that was cut off anywhere", () => {
      expect(conversation(whole).binds).toHaveLength(1);
      for (let end = 0; end < whole.length; end++) {
        expect(conversationOf("p", encoder.encode(whole.slice(0, end)))).toBeUndefined();
      }
    });

    it.each([
      `${whole}x`,
      whole.replace("true", "tru"),
      whole.replace("-1.5e3", "01"),
      whole.replace("-1.5e3", "1."),
      whole.replace("-1.5e3", "+1"),
      whole.replace("-1.5e3", "1e"),
      whole.replace("-1.5e3", "--1"),
      whole.replace("-1.5e3", "NaN"),
      whole.replace("\\u00e9", "\\u00g9"),
      whole.replace("\\u00e9", "\\x"),
      whole.replace('"n":', '"n"'),
      whole.replace('"n":', "n:"),
      whole.replace('"}]}]}', '",}]}]}'),
      whole.replace("}]}]}", "}]},]}"),
      whole.replace("}]}]}", "]}]}"),
    ])("is in what is not JSON: %s", (body) => {
      expect(conversationOf("p", encoder.encode(body))).toBeUndefined();
    });

    it("is in what is nested deeper than a hundred levels, wherever that is read", () => {
      const deep = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
      const nested = (levels: number): string => '{"content":'.repeat(levels) + '"x"' + "}".repeat(levels);

      expect(conversation(`{"messages":[{"role":"user","content":"x","n":${deep(50)}}]}`).binds).toHaveLength(1);
      for (const value of [deep(200), deep(1_000_000), nested(200), nested(100_000)]) {
        expect(
          conversationOf("p", encoder.encode(`{"messages":[{"role":"user","n":${value},"content":${value}}]}`)),
        ).toBeUndefined();
      }
    });

    it("is kept from being seen by deep nesting that is not read", () => {
      const deep = "[".repeat(1_000_000) + "]".repeat(1_000_000);

      expect(conversation(`{"tools":${deep},"messages":[{"role":"user","content":"x"}]}`).binds).toHaveLength(1);
    });
  });

  describe("the opening", () => {
    const opening = (body: Body | string): ReturnType<typeof openingOf> =>
      openingOf(encoder.encode(typeof body === "string" ? body : JSON.stringify(body)));

    it.each(Object.entries(apis))(
      "of %s is the same in each turn, and another if the user says something else",
      (_, turn) => {
        const other = JSON.stringify(turn(3)).replace(/"(look|question 0)"/, '"$1, please"');
        expect(opening(turn(0))).toBeDefined();
        expect(opening(turn(3))).toEqual(opening(turn(0)));
        expect(opening(other)).not.toEqual(opening(turn(0)));
      },
    );

    it("does not depend on instructions", () => {
      const asked = opening(chat(user("hi")));
      expect(opening(chat({ role: "system", content: "Be brief." }, user("hi")))).toEqual(asked);
      expect(opening({ instructions: "Be brief.", input: "hi" })).toEqual(opening({ input: "hi" }));
    });

    it.each([
      "",
      "[]",
      "7",
      "{}",
      '{"messages":',
      '{"messages":[]}',
      '{"messages":[3,{"role":"user","content":"hi"}]}',
    ])("is not in %s", (body) => {
      expect(opening(body)).toBeUndefined();
    });

    it("is not what the model, the system or nobody says", () => {
      expect(opening(chat(assistant("Hello"), { role: "system", content: "x" }, user("")))).toBeUndefined();
    });
  });

  describe("over the shared state", () => {
    async function keysServing(requests: readonly Body[]): Promise<string> {
      const state = new MemoryState({ clock: createFakeClock() });
      await state.configure("p", keysOf(1, 1, 1), aPolicy());
      let served = "";
      for (const request of requests) {
        const choice = state.choose("p", { conversation: conversation(request) });
        served += choice.kind === "key" ? choice.keyId : "-";
      }
      return served;
    }

    it.each(Object.entries(apis))(
      "three interleaved conversations of %s stay on their keys for ten turns",
      async (_, turn) => {
        const marked = (mark: string, n: number): Body =>
          JSON.parse(JSON.stringify(turn(n)).replace(/"(look|question 0)"/, `"$1 ${mark}"`)) as Body;
        const requests = Array.from({ length: 10 }, (__, n) => ["x", "y", "z"].map((mark) => marked(mark, n))).flat();

        expect(await keysServing(requests)).toBe("ABC".repeat(10));
      },
    );

    it("first turns that say the same take turns, and who comes after goes to the key of the last", async () => {
      const first = chat(user("hi"));

      expect(await keysServing([first, first, first, first, chat(user("hi"), assistant("Hello"), user("more"))])).toBe(
        "ABCAA",
      );
    });
  });
});

it("bytes are read no further than the opening", () => {
  const [whole, cut] = [
    '{"messages":[{"role":"user","content":"hi"}]}',
    '{"messages":[{"role":"user","content":"hi"},]',
  ];

  expect(openingInBytes(encoder.encode(cut))).toEqual(openingInBytes(encoder.encode(whole)));
});
