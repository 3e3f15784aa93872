import { messageEvents, type RecordedRequest, reply, type Reply, type SseEvent } from "@keywheel/testkit";

/** The kinds of provider that the clients here speak to. */
export type AnsweringKind = "anthropic" | "openai" | "gemini";

/**
 * What a model says to a client that offers it tools and instructions: this text and nothing else, streamed word by word
 * where that is asked for. Probes and lists are left to the provider.
 */
export function saying(kind: AnsweringKind, text: string): Reply {
  return reply.by((request) => answers[kind](request, text));
}

const answers = { anthropic: message, openai: response, gemini: content } as const;

function message(request: RecordedRequest, text: string): Reply {
  const { model, stream } = request.json() as { readonly model: string; readonly stream?: boolean };
  const usage = { input_tokens: 12, output_tokens: 8, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const head = { id: `msg_${request.index}`, type: "message", role: "assistant", model, stop_sequence: null };
  if (stream === true) return reply.sse(messageEvents(head, text, usage));
  return reply.json(200, {}, { ...head, content: [{ type: "text", text }], stop_reason: "end_turn", usage });
}

function response(request: RecordedRequest, text: string): Reply {
  const { model } = request.json() as { readonly model: string };
  const id = `resp_${request.index}`;
  const part = { type: "output_text", text, annotations: [] };
  const item = { id: `msg_${id}`, type: "message", role: "assistant", status: "completed", content: [part] };
  const usage = {
    input_tokens: 12,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 8,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 20,
  };
  const begun = { id, object: "response", created_at: 1_796_000_000, status: "in_progress", model, output: [] };
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const events: readonly ({ readonly type: string } & Readonly<Record<string, unknown>>)[] = [
    { type: "response.created", response: begun },
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...place, part: { ...part, text: "" } },
    ...words(text).map((delta) => ({ type: "response.output_text.delta", ...place, delta, logprobs: [] })),
    { type: "response.output_text.done", ...place, text, logprobs: [] },
    { type: "response.content_part.done", ...place, part },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { ...begun, status: "completed", output: [item], usage } },
  ];
  return reply.sse(events.map((data, at) => ({ event: data.type, data: { ...data, sequence_number: at } })));
}

function content(request: RecordedRequest, text: string): Reply {
  const { generationConfig } = request.json() as {
    readonly generationConfig?: { readonly responseMimeType?: string };
  };
  // Gemini CLI asks a small model which of the others shall answer.
  if (generationConfig?.responseMimeType === "application/json")
    return reply.json(
      200,
      {},
      piece(JSON.stringify({ complexity_reasoning: "A greeting.", complexity_score: 5 }), true),
    );
  const pieces = words(text).map((word, at, all): SseEvent => ({ data: piece(word, at === all.length - 1) }));
  return reply.sse(pieces);
}

function piece(text: string, isLast: boolean): object {
  return {
    candidates: [
      { content: { role: "model", parts: [{ text }] }, index: 0, ...(isLast ? { finishReason: "STOP" } : {}) },
    ],
    usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 8, totalTokenCount: 20 },
  };
}

/** A text in pieces of one word each, blanks kept. */
function words(text: string): readonly string[] {
  return text.match(/\S+\s*/g) ?? [];
}
