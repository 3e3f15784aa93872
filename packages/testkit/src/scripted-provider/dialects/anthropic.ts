import { parseMultipart } from "../multipart.ts";
import type { RecordedRequest } from "../recorded-request.ts";
import { type Reply, reply, type SseEvent } from "../reply.ts";
import { countTokens, type Dialect, type ObjectShelf, saidBack, wordsOf } from "./dialect.ts";

const models = ["claude-test", "claude-test-small"];

/** Anthropic: `x-api-key` and nothing else, `anthropic-version` mandatory. */
export function createAnthropicDialect(basePath = "/v1"): Dialect {
  return {
    basePath,
    credentialPlace: () => "x-api-key",
    refuse({ kind, faults }) {
      const message = kind === "missing" ? "x-api-key header is required" : "invalid x-api-key";
      return anthropicError(
        401,
        "authentication_error",
        faults.length === 0 ? message : `${message} (test: ${faults.join("; ")})`,
      );
    },
    answer: (request, objects) =>
      request.path.startsWith(`${basePath}/`)
        ? answer(request.path.slice(basePath.length), request, objects)
        : notFound(request),
  };
}

function answer(path: string, request: RecordedRequest, objects: ObjectShelf): Reply {
  if (request.header("anthropic-version") === undefined) {
    return anthropicError(400, "invalid_request_error", "anthropic-version: header is required");
  }
  try {
    switch (`${request.method} ${path}`) {
      case "POST /messages":
        return message(request, objects);
      case "POST /messages/count_tokens": {
        const { messages } = request.json() as { messages?: unknown };
        return reply.json(200, headers, { input_tokens: countTokens(messages) });
      }
      case "POST /messages/batches":
        return createBatch(request, objects);
      case "POST /files":
        return createFile(request, objects);
      case "GET /files":
        return reply.json(200, headers, {
          data: objects.list("file", request.key).map((file) => file.body),
          has_more: false,
        });
      case "GET /models":
        return reply.json(200, headers, {
          data: models.map(modelEntry),
          has_more: false,
          first_id: models[0],
          last_id: models.at(-1),
        });
      default:
        return answerAboutOne(path, request, objects);
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return anthropicError(400, "invalid_request_error", "The request body is not valid JSON");
  }
}

function answerAboutOne(path: string, request: RecordedRequest, objects: ObjectShelf): Reply {
  const [, fileId, content] = /^\/files\/(\w+)(\/content)?$/.exec(path) ?? [];
  const file = fileId === undefined ? undefined : objects.find(fileId, request.key);
  if (file !== undefined && request.method === "DELETE") {
    objects.remove(file.id, request.key);
    return reply.json(200, headers, { id: file.id, type: "file_deleted" });
  }
  if (file !== undefined && content !== undefined) {
    return reply.status(200, { ...headers, "content-type": file.contentType ?? "text/plain" }, file.content);
  }
  if (file !== undefined) return reply.json(200, headers, file.body);
  const batch = /^\/messages\/batches\/(\w+)$/.exec(path)?.[1];
  const object = batch === undefined ? undefined : objects.find(batch, request.key);
  if (object !== undefined && request.method === "GET") return reply.json(200, headers, object.body);
  const model = /^\/models\/([\w-]+)$/.exec(path)?.[1];
  if (model !== undefined && models.includes(model)) return reply.json(200, headers, modelEntry(model));
  return notFound(request);
}

function notFound(request: RecordedRequest): Reply {
  return anthropicError(404, "not_found_error", `Not found: ${request.method} ${request.path}`);
}

function message(request: RecordedRequest, objects: ObjectShelf): Reply {
  const body = request.json() as {
    readonly model?: string;
    readonly max_tokens?: number;
    readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
    readonly tools?: readonly { readonly name: string }[];
    readonly stream?: boolean;
  };
  if (body.messages === undefined) {
    return anthropicError(400, "invalid_request_error", "messages: Field required");
  }
  if (typeof body.max_tokens !== "number") {
    return anthropicError(400, "invalid_request_error", "max_tokens: Field required");
  }
  const text = saidBack(body.messages.findLast((turn) => turn.role === "user")?.content);
  const head = {
    id: objects.newId("msg_test"),
    type: "message",
    role: "assistant",
    model: body.model ?? "claude-test",
    stop_sequence: null,
  };
  const input = countTokens(body.messages);
  const usage = { input_tokens: input, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

  const tool = body.tools?.[0]?.name;
  if (tool !== undefined && !answersTool(body.messages.at(-1)?.content)) {
    const block = { type: "tool_use", id: "toolu_test", name: tool };
    if (body.stream === true) return reply.sse(toolEvents(head, block, text, usage), { headers });
    const content = [{ ...block, input: { said: text } }];
    const spent = { ...usage, output_tokens: countTokens(text) };
    return reply.json(200, headers, { ...head, content, stop_reason: "tool_use", usage: spent });
  }
  if (body.stream === true) return reply.sse(messageEvents(head, text, usage), { headers });
  return reply.json(200, headers, {
    ...head,
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    usage: { ...usage, output_tokens: countTokens(text) },
  });
}

function answersTool(content: unknown): boolean {
  return Array.isArray(content) && content.some((part: { readonly type?: string }) => part.type === "tool_result");
}

/** A streamed message that calls a tool with what was said, its arguments in pieces. */
function toolEvents(head: object, block: object, said: string, usage: object): SseEvent[] {
  const words = wordsOf(JSON.stringify({ said }));
  return [
    event({
      type: "message_start",
      message: { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    }),
    event({ type: "content_block_start", index: 0, content_block: { ...block, input: {} } }),
    ...words.map((word) =>
      event({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: word } }),
    ),
    event({ type: "content_block_stop", index: 0 }),
    event({
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { output_tokens: 9 },
    }),
    event({ type: "message_stop" }),
  ];
}

function event(data: { readonly type: string; readonly [field: string]: unknown }): SseEvent {
  return { event: data.type, data };
}

/** A streamed message as Anthropic sends it, a ping included. */
export function messageEvents(head: object, text: string, usage: object): SseEvent[] {
  const started = { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  return [
    event({ type: "message_start", message: started }),
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    event({ type: "ping" }),
    ...wordsOf(text).map((word) =>
      event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: word } }),
    ),
    event({ type: "content_block_stop", index: 0 }),
    event({
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: countTokens(text) },
    }),
    event({ type: "message_stop" }),
  ];
}

function createFile(request: RecordedRequest, objects: ObjectShelf): Reply {
  const part = parseMultipart(request.header("content-type"), request.body).find((one) => one.filename !== undefined);
  if (part === undefined) return anthropicError(400, "invalid_request_error", "file: Field required");
  const id = objects.newId("file_test");
  const contentType = part.contentType ?? "application/octet-stream";
  const body = {
    id,
    type: "file",
    filename: part.filename,
    mime_type: contentType,
    size_bytes: part.content.length,
    created_at: "2026-05-28T20:26:40Z",
    downloadable: true,
  };
  objects.add({ id, owner: request.key, kind: "file", body, content: part.content, contentType });
  return reply.json(200, headers, body);
}

function createBatch(request: RecordedRequest, objects: ObjectShelf): Reply {
  const id = objects.newId("msgbatch_test");
  const body = {
    id,
    type: "message_batch",
    processing_status: "in_progress",
    request_counts: { processing: 1, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
    created_at: "2026-05-28T20:26:40Z",
    expires_at: "2026-05-29T20:26:40Z",
    ended_at: null,
    cancel_initiated_at: null,
    archived_at: null,
    results_url: null,
  };
  objects.add({ id, owner: request.key, kind: "batch", body });
  return reply.json(200, headers, body);
}

function modelEntry(id: string): object {
  return { type: "model", id, display_name: id, created_at: "2026-01-01T00:00:00Z" };
}

/** An error in Anthropic's envelope. */
export function anthropicError(status: number, type: string, text: string): Reply {
  return reply.json(status, headers, {
    type: "error",
    error: { type, message: text },
    request_id: headers["request-id"],
  });
}

const headers = { "request-id": "req_test", "anthropic-organization-id": "00000000-0000-4000-8000-000000000000" };
