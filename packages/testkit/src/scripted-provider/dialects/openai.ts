import { parseMultipart } from "../multipart.ts";
import type { RecordedRequest } from "../recorded-request.ts";
import { type Reply, reply, type SseEvent } from "../reply.ts";
import {
  countTokens,
  createdAt,
  type Dialect,
  type MadeObject,
  type ObjectShelf,
  type Refusal,
  saidBack,
  wordsOf,
} from "./dialect.ts";

const models = ["gpt-test", "gpt-test-mini", "text-embedding-test"];

/** OpenAI, and everything that speaks as it does under another path. */
export function createOpenAiDialect(basePath = "/v1"): Dialect {
  return {
    basePath,
    credentialPlace: () => "bearer",
    refuse: refuseAsOpenAi,
    answer: (request, objects) =>
      request.path.startsWith(`${basePath}/`)
        ? answerAsOpenAi(request.path.slice(basePath.length), request, objects)
        : unknownUrl(`${request.method} ${request.path}`),
  };
}

function refuseAsOpenAi({ kind, faults }: Refusal): Reply {
  if (kind === "missing") {
    const message = "You didn't provide an API key. You need to provide your API key in an Authorization header.";
    return openAiError(401, { message: withFaults(message, faults), type: "invalid_request_error", code: null });
  }
  const message = withFaults("Incorrect API key provided.", faults);
  return openAiError(401, { message, type: "invalid_request_error", code: "invalid_api_key" });
}

/** OpenAI's answers by the path below the base path; shared by those that have it under other addresses. */
export function answerAsOpenAi(path: string, request: RecordedRequest, objects: ObjectShelf): Reply {
  const call = `${request.method} ${path}`;
  try {
    switch (call) {
      case "POST /chat/completions":
        return chatCompletion(request, objects);
      case "POST /responses":
        return createResponse(request, objects);
      case "POST /embeddings":
        return embeddings(request);
      case "POST /audio/transcriptions":
        return transcription(request);
      case "GET /models":
        return reply.json(200, {}, { object: "list", data: models.map(modelEntry) });
      case "POST /files":
        return createFile(request, objects);
      case "GET /files":
        return listOf("file", request, objects);
      case "POST /batches":
        return createBatch(request, objects);
      case "GET /batches":
        return listOf("batch", request, objects);
      default:
        return answerAboutOne(call, path, request, objects);
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const message = "We could not parse the JSON body of your request.";
    return openAiError(400, { message, type: "invalid_request_error", code: null });
  }
}

function answerAboutOne(call: string, path: string, request: RecordedRequest, objects: ObjectShelf): Reply {
  const [, collection = "", id = "", action = ""] = path.split("/");
  if (collection === "models" && request.method === "GET" && models.includes(id)) {
    return reply.json(200, {}, modelEntry(id));
  }
  if (!["files", "batches", "responses"].includes(collection) || id === "") return unknownUrl(call);
  const object = objects.find(id, request.key);
  if (object === undefined) {
    return openAiError(404, {
      message: `No such object: ${id}`,
      type: "invalid_request_error",
      code: null,
      param: "id",
    });
  }
  if (request.method === "DELETE" && action === "") {
    objects.remove(id, request.key);
    return reply.json(200, {}, { id, object: object.kind, deleted: true });
  }
  if (request.method === "GET" && action === "") return reply.json(200, {}, object.body);
  if (call.startsWith("GET /files") && action === "content") {
    return reply.status(200, { "content-type": object.contentType ?? "application/octet-stream" }, object.content);
  }
  if (call.startsWith("POST /batches") && action === "cancel") {
    return reply.json(200, {}, { ...object.body, status: "cancelling" });
  }
  return unknownUrl(call);
}

function chatCompletion(request: RecordedRequest, objects: ObjectShelf): Reply {
  const body = request.json() as {
    readonly model?: string;
    readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
    readonly tools?: readonly { readonly function?: { readonly name: string } }[];
    readonly stream?: boolean;
    readonly stream_options?: { readonly include_usage?: boolean };
  };
  if (body.messages === undefined) {
    const message = "Missing required parameter: 'messages'.";
    return openAiError(400, { message, type: "invalid_request_error", code: "missing_required_parameter" });
  }
  const text = saidBack(body.messages.findLast((message) => message.role === "user")?.content);
  const usage = chatUsage(body.messages, text);
  const common = { id: objects.newId("chatcmpl-test"), created: createdAt, model: body.model ?? "gpt-test" };

  const tool = body.tools?.[0]?.function?.name;
  if (tool !== undefined && body.messages.at(-1)?.role !== "tool") {
    return toolCall({ ...common, stream: body.stream === true, usage }, tool, text);
  }
  if (body.stream === true)
    return reply.sse(chatChunks(common, text, body.stream_options?.include_usage ? usage : undefined));
  return reply.json(200, openAiHeaders, {
    ...common,
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: text, refusal: null }, finish_reason: "stop" }],
    usage,
  });
}

/** A completion that calls the first tool with what was said; streamed, its arguments come in pieces. */
function toolCall({ stream, usage, ...common }: { stream: boolean; usage: object }, name: string, said: string): Reply {
  const words = wordsOf(JSON.stringify({ said }));
  const call = { id: "call_test", type: "function", function: { name, arguments: stream ? "" : words.join("") } };
  if (!stream) {
    const message = { role: "assistant", content: null, refusal: null, tool_calls: [call] };
    const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
    return reply.json(200, openAiHeaders, { ...common, object: "chat.completion", choices, usage });
  }
  const chunk = (delta: object, finish: string | null): SseEvent => ({
    data: { ...common, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] },
  });
  return reply.sse([
    chunk({ role: "assistant", content: null, tool_calls: [{ index: 0, ...call }] }, null),
    ...words.map((word) => chunk({ tool_calls: [{ index: 0, function: { arguments: word } }] }, null)),
    chunk({}, "tool_calls"),
    { data: "[DONE]" },
  ]);
}

/** The chunks of a streamed completion, `[DONE]` included; the usage chunk only if there is a usage. */
export function chatChunks(common: object, text: string, usage?: object): SseEvent[] {
  const chunk = (delta: object, finish: string | null): SseEvent => ({
    data: {
      ...common,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...(usage === undefined ? {} : { usage: null }),
    },
  });
  return [
    chunk({ role: "assistant", content: "", refusal: null }, null),
    ...wordsOf(text).map((content) => chunk({ content }, null)),
    chunk({}, "stop"),
    ...(usage === undefined ? [] : [{ data: { ...common, object: "chat.completion.chunk", choices: [], usage } }]),
    { data: "[DONE]" },
  ];
}

function createResponse(request: RecordedRequest, objects: ObjectShelf): Reply {
  const body = request.json() as {
    readonly model?: string;
    readonly input?: unknown;
    readonly stream?: boolean;
    readonly store?: boolean;
    readonly previous_response_id?: string;
  };
  const previous = body.previous_response_id;
  if (previous !== undefined && objects.find(previous, request.key) === undefined) {
    const message = `Previous response with id '${previous}' not found.`;
    return openAiError(400, { message, type: "invalid_request_error", code: "previous_response_not_found" });
  }

  const text = saidBack(body.input);
  const id = objects.newId("resp_test");
  const item = (status: string, content: readonly object[]): object => ({
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    status,
    content,
  });
  const part = { type: "output_text", text, annotations: [] };
  const response = (status: string, output: readonly object[], usage: object | null): Record<string, unknown> => ({
    id,
    object: "response",
    created_at: createdAt,
    status,
    model: body.model ?? "gpt-test",
    output,
    previous_response_id: previous ?? null,
    error: null,
    usage,
  });
  const input = countTokens(body.input);
  const output = countTokens(text);
  const done = response("completed", [item("completed", [part])], {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  });
  if (body.store !== false) objects.add({ id, owner: request.key, kind: "response", body: done });
  if (body.stream !== true) return reply.json(200, openAiHeaders, done);

  const begun = response("in_progress", [], null);
  const place = { item_id: `msg_${id}`, output_index: 0, content_index: 0 };
  const events: readonly Record<string, unknown>[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    { type: "response.output_item.added", output_index: 0, item: item("in_progress", []) },
    { type: "response.content_part.added", ...place, part: { ...part, text: "" } },
    ...wordsOf(text).map((delta) => ({ type: "response.output_text.delta", ...place, delta, logprobs: [] })),
    { type: "response.output_text.done", ...place, text, logprobs: [] },
    { type: "response.content_part.done", ...place, part },
    { type: "response.output_item.done", output_index: 0, item: item("completed", [part]) },
    { type: "response.completed", response: done },
  ];
  return reply.sse(
    events.map((event, position) => ({ event: String(event.type), data: { ...event, sequence_number: position } })),
  );
}

function embeddings(request: RecordedRequest): Reply {
  const body = request.json() as {
    readonly model?: string;
    readonly input?: unknown;
    readonly encoding_format?: string;
  };
  const inputs = Array.isArray(body.input) ? body.input : [body.input];
  const used = countTokens(body.input);
  return reply.json(200, openAiHeaders, {
    object: "list",
    model: body.model ?? "text-embedding-test",
    data: inputs.map((input, index) => {
      const vector = embeddingOf(input);
      const embedding =
        body.encoding_format === "base64" ? Buffer.from(new Float32Array(vector).buffer).toString("base64") : vector;
      return { object: "embedding", index, embedding };
    }),
    usage: { prompt_tokens: used, total_tokens: used },
  });
}

/** Three numbers that single precision holds exactly, the same for the same input. */
export function embeddingOf(input: unknown): number[] {
  const length = JSON.stringify(input ?? "").length;
  return [length / 8, -0.5, 0.25];
}

function transcription(request: RecordedRequest): Reply {
  const { file, fields } = readForm(request);
  if (file === undefined)
    return openAiError(400, { message: "Missing file", type: "invalid_request_error", code: null });
  const text = `Heard ${file.content.length} bytes of ${file.filename}.`;
  return fields.response_format === "text"
    ? reply.status(200, { "content-type": "text/plain; charset=utf-8" }, `${text}\n`)
    : reply.json(200, openAiHeaders, { text });
}

function createFile(request: RecordedRequest, objects: ObjectShelf): Reply {
  const { file, fields } = readForm(request);
  if (file === undefined)
    return openAiError(400, { message: "Missing file", type: "invalid_request_error", code: null });
  const id = objects.newId("file-test");
  const body = {
    id,
    object: "file",
    bytes: file.content.length,
    created_at: createdAt,
    filename: file.filename ?? "",
    purpose: fields.purpose ?? "",
    status: "processed",
  };
  const contentType = file.contentType ?? "application/octet-stream";
  objects.add({ id, owner: request.key, kind: "file", body, content: file.content, contentType });
  return reply.json(200, openAiHeaders, body);
}

function createBatch(request: RecordedRequest, objects: ObjectShelf): Reply {
  const { input_file_id: file, endpoint } = request.json() as { input_file_id?: string; endpoint?: string };
  if (file === undefined || objects.find(file, request.key) === undefined) {
    return openAiError(400, { message: `No such file: ${file}`, type: "invalid_request_error", code: "invalid_file" });
  }
  const id = objects.newId("batch_test");
  const body = { id, object: "batch", endpoint, input_file_id: file, status: "validating", created_at: createdAt };
  objects.add({ id, owner: request.key, kind: "batch", body });
  return reply.json(200, openAiHeaders, body);
}

function listOf(kind: string, request: RecordedRequest, objects: ObjectShelf): Reply {
  const data = objects.list(kind, request.key).map((object: MadeObject) => object.body);
  return reply.json(200, openAiHeaders, { object: "list", data, has_more: false });
}

function readForm(request: RecordedRequest): {
  file: ReturnType<typeof parseMultipart>[number] | undefined;
  fields: Record<string, string>;
} {
  const parts = parseMultipart(request.header("content-type"), request.body);
  const fields = parts.filter((part) => part.filename === undefined);
  return {
    file: parts.find((part) => part.filename !== undefined),
    fields: Object.fromEntries(fields.map((part) => [part.name, part.content.toString("utf8")])),
  };
}

function chatUsage(messages: unknown, text: string): object {
  const [prompt, completion] = [countTokens(messages), countTokens(text)];
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

function modelEntry(id: string): object {
  return { id, object: "model", created: createdAt, owned_by: "test" };
}

function unknownUrl(call: string): Reply {
  return openAiError(404, { message: `Invalid URL (${call})`, type: "invalid_request_error", code: null });
}

/** An error in OpenAI's envelope. */
export function openAiError(
  status: number,
  error: { message: string; type: string; code: string | null; param?: string },
): Reply {
  return reply.json(status, openAiHeaders, { error: { param: null, ...error } });
}

const openAiHeaders = {
  "x-request-id": "req_test",
  "openai-processing-ms": "1",
  "x-ratelimit-limit-requests": "5000",
  "x-ratelimit-remaining-requests": "4999",
  "x-ratelimit-reset-requests": "12ms",
};

function withFaults(message: string, faults: readonly string[]): string {
  return faults.length === 0 ? message : `${message} (test: ${faults.join("; ")})`;
}
