import { parseMultipart } from "../multipart.ts";
import type { RecordedRequest } from "../recorded-request.ts";
import { type Reply, reply } from "../reply.ts";
import { countTokens, type Dialect, type ObjectShelf, saidBack, wordsOf } from "./dialect.ts";
import { answerAsOpenAi, embeddingOf } from "./openai.ts";

const models = ["gemini-test", "gemini-test-lite"];
const basePath = "/v1beta";
/** Clients name the version themselves, and not all the same. */
const version = /^\/v1(?:beta|alpha)?(?=\/)/;

interface GenerateRequest {
  readonly contents?: readonly { readonly role?: string; readonly parts?: readonly Part[] }[];
  readonly cachedContent?: string;
  readonly tools?: readonly { readonly functionDeclarations?: readonly { readonly name: string }[] }[];
}
interface Part {
  readonly text?: string;
  readonly fileData?: { readonly fileUri?: string };
  readonly functionResponse?: object;
}

/** Gemini's own API, its uploads, and its OpenAI-compatible surface, which wants the key as a bearer. */
export function createGeminiDialect(): Dialect {
  return {
    basePath,
    credentialPlace: (path) => (isCompatible(path) ? "bearer" : "x-goog-api-key"),
    refuse({ kind, faults }) {
      const note = faults.length === 0 ? "" : ` (test: ${faults.join("; ")})`;
      if (kind === "missing") {
        const message = `Method doesn't allow unregistered callers (callers without established identity).${note}`;
        return geminiError(403, "PERMISSION_DENIED", message);
      }
      return geminiError(400, "INVALID_ARGUMENT", `API key not valid. Please pass a valid API key.${note}`, [
        {
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "API_KEY_INVALID",
          domain: "googleapis.com",
          metadata: { service: "generativelanguage.googleapis.com" },
        },
      ]);
    },
    answer(request, objects) {
      if (isCompatible(request.path)) {
        return answerAsOpenAi(request.path.slice(`${basePath}/openai`.length), request, objects);
      }
      try {
        return answer(request, objects);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        return geminiError(400, "INVALID_ARGUMENT", "Invalid JSON payload received.");
      }
    },
  };
}

function isCompatible(path: string): boolean {
  return path.startsWith(`${basePath}/openai/`);
}

function answer(request: RecordedRequest, objects: ObjectShelf): Reply {
  if (request.path === `/upload${basePath}/files` || request.path === "/upload/v1/files") {
    return uploadFile(request, objects);
  }
  if (!version.test(request.path)) return unknownEntity();
  const path = request.path.replace(version, "");
  const call = `${request.method} ${path}`;
  const [, model = "", action = ""] = /^\/models\/([\w.-]+)(?::(\w+))?$/.exec(path) ?? [];
  if (request.method === "POST" && model !== "") return answerOfModel(model, action, request, objects);
  if (call === "GET /models") return reply.json(200, {}, { models: models.map(modelEntry) });
  if (request.method === "GET" && models.includes(model)) return reply.json(200, {}, modelEntry(model));
  if (call === "GET /files") {
    return reply.json(200, {}, { files: objects.list("file", request.key).map((file) => file.body) });
  }
  if (call === "POST /cachedContents") return createCache(request, objects);
  return answerAboutOne(path.slice(1), request, objects);
}

function answerAboutOne(name: string, request: RecordedRequest, objects: ObjectShelf): Reply {
  if (!/^(files|cachedContents|batches)\/\w+$/.test(name)) return unknownEntity();
  const object = objects.find(name, request.key);
  if (object === undefined) return name.startsWith("batches/") ? unknownEntity() : notYours(name);
  if (request.method !== "DELETE") return reply.json(200, {}, object.body);
  objects.remove(name, request.key);
  return reply.json(200, {}, {});
}

function answerOfModel(model: string, action: string, request: RecordedRequest, objects: ObjectShelf): Reply {
  const body = request.json() as GenerateRequest & {
    readonly content?: unknown;
    readonly requests?: readonly object[];
  };
  switch (action) {
    case "generateContent":
      return foreignObject(body, request, objects) ?? reply.json(200, {}, whole(model, body, objects));
    case "streamGenerateContent":
      return foreignObject(body, request, objects) ?? streamed(model, body, request, objects);
    case "countTokens":
      return reply.json(200, {}, { totalTokens: countTokens(body.contents) });
    case "embedContent":
      return reply.json(200, {}, { embedding: { values: embeddingOf(body.content) } });
    case "batchGenerateContent":
      return createBatch(model, request, objects);
    case "batchEmbedContents":
      return reply.json(200, {}, { embeddings: (body.requests ?? []).map((one) => ({ values: embeddingOf(one) })) });
    default:
      return geminiError(404, "NOT_FOUND", `models/${model} is not supported for ${action}.`);
  }
}

function foreignObject(body: GenerateRequest, request: RecordedRequest, objects: ObjectShelf): Reply | undefined {
  const uris = (body.contents ?? []).flatMap((content) => content.parts ?? []).map((part) => part.fileData?.fileUri);
  const files = uris.flatMap((uri) => /files\/\w+$/.exec(uri ?? "") ?? []);
  const named = body.cachedContent === undefined ? files : [...files, body.cachedContent];
  const foreign = named.find((name) => objects.find(name, request.key) === undefined);
  return foreign === undefined ? undefined : notYours(foreign);
}

function whole(model: string, body: GenerateRequest, objects: ObjectShelf): object {
  const text = textFor(body);
  const call = functionCallFor(body, text);
  if (call !== undefined) return callPiece(model, call, objects.newId("test"), usageOf(body, text));
  return piece(model, text, objects.newId("test"), { finishReason: "STOP", usage: usageOf(body, text) });
}

function streamed(model: string, body: GenerateRequest, request: RecordedRequest, objects: ObjectShelf): Reply {
  const text = textFor(body);
  const id = objects.newId("test");
  const call = functionCallFor(body, text);
  if (call !== undefined) return reply.sse([{ data: callPiece(model, call, id, usageOf(body, text)) }]);
  const words = wordsOf(text);
  const pieces = words.map((word, position) =>
    piece(model, word, id, {
      ...(position === words.length - 1 ? { finishReason: "STOP" } : {}),
      usage: usageOf(body, words.slice(0, position + 1).join("")),
    }),
  );
  // Without `alt=sse` the body is one JSON array that grows.
  if (request.query.get("alt") === "sse") return reply.sse(pieces.map((data) => ({ data })));
  return reply.json(200, {}, pieces);
}

function piece(
  model: string,
  text: string,
  responseId: string,
  rest: { readonly finishReason?: string; readonly usage: object },
): object {
  const { finishReason, usage } = rest;
  return {
    candidates: [
      {
        content: { role: "model", parts: [{ text }] },
        index: 0,
        ...(finishReason === undefined ? {} : { finishReason }),
      },
    ],
    usageMetadata: usage,
    modelVersion: model,
    responseId,
  };
}

/** The call of the first function that is declared, until its answer is there. */
function functionCallFor(body: GenerateRequest, said: string): object | undefined {
  const name = body.tools?.[0]?.functionDeclarations?.[0]?.name;
  const isAnswered = body.contents?.at(-1)?.parts?.some((part) => part.functionResponse !== undefined) === true;
  return name === undefined || isAnswered ? undefined : { name, args: { said } };
}

function callPiece(model: string, functionCall: object, responseId: string, usageMetadata: object): object {
  const content = { role: "model", parts: [{ functionCall }] };
  return { candidates: [{ content, index: 0, finishReason: "STOP" }], usageMetadata, modelVersion: model, responseId };
}

function textFor(body: GenerateRequest): string {
  const last = body.contents?.findLast((content) => content.role !== "model");
  return saidBack(last?.parts?.find((part) => part.text !== undefined)?.text ?? "");
}

function usageOf(body: GenerateRequest, text: string): object {
  const [prompt, output] = [countTokens(body.contents), countTokens(text)];
  return { promptTokenCount: prompt, candidatesTokenCount: output, totalTokenCount: prompt + output };
}

/** In one go, or begun here and sent to the address that the beginning is answered with. */
function uploadFile(request: RecordedRequest, objects: ObjectShelf): Reply {
  if (request.header("x-goog-upload-command") === "start") {
    const id = objects.newId("upload");
    const type = request.header("x-goog-upload-header-content-type") ?? "application/octet-stream";
    objects.add({ id, owner: request.key, kind: "upload", body: {}, contentType: type });
    const url = `http://${request.header("host")}${request.path}?upload_id=${id}&upload_protocol=resumable`;
    return reply.json(200, { "x-goog-upload-status": "active", "x-goog-upload-url": url }, {});
  }
  const uploadId = request.query.get("upload_id");
  const begun = uploadId === null ? undefined : objects.find(uploadId, request.key);
  if (uploadId !== null && begun === undefined) return unknownEntity();
  const type = begun?.contentType ?? request.header("content-type");
  const content = /^multipart\//i.test(type ?? "")
    ? (parseMultipart(type, request.body).at(-1)?.content ?? Buffer.alloc(0))
    : request.body;
  const name = `files/${objects.newId("test")}`;
  const body = {
    name,
    mimeType: type ?? "application/octet-stream",
    sizeBytes: String(content.length),
    state: "ACTIVE",
    uri: `https://generativelanguage.googleapis.com${basePath}/${name}`,
  };
  objects.add({ id: name, owner: request.key, kind: "file", body, content });
  return reply.json(200, begun === undefined ? {} : { "x-goog-upload-status": "final" }, { file: body });
}

function createBatch(model: string, request: RecordedRequest, objects: ObjectShelf): Reply {
  const name = `batches/${objects.newId("test")}`;
  const metadata = { "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch" };
  const body = { name, metadata: { ...metadata, name, model: `models/${model}`, state: "BATCH_STATE_PENDING" } };
  objects.add({ id: name, owner: request.key, kind: "batch", body });
  return reply.json(200, {}, body);
}

function createCache(request: RecordedRequest, objects: ObjectShelf): Reply {
  const { model } = request.json() as { model?: string };
  const name = `cachedContents/${objects.newId("test")}`;
  const body = { name, model, expireTime: "2030-01-01T00:00:00Z" };
  objects.add({ id: name, owner: request.key, kind: "cache", body });
  return reply.json(200, {}, body);
}

function unknownEntity(): Reply {
  return geminiError(404, "NOT_FOUND", "Requested entity was not found.");
}

function notYours(name: string): Reply {
  return name.startsWith("files/")
    ? geminiError(
        403,
        "PERMISSION_DENIED",
        `You do not have permission to access the File ${name.slice(6)} or it may not exist.`,
      )
    : geminiError(403, "PERMISSION_DENIED", "CachedContent not found (or permission denied)");
}

function modelEntry(id: string): object {
  return { name: `models/${id}`, displayName: id, supportedGenerationMethods: ["generateContent", "countTokens"] };
}

/** An error in Google's envelope. */
export function geminiError(code: number, status: string, message: string, details?: readonly object[]): Reply {
  const error = { code, message, status, ...(details === undefined ? {} : { details }) };
  return reply.json(code, { "content-type": "application/json; charset=UTF-8" }, { error });
}
