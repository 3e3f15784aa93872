import {
  conversationOf,
  type Fingerprint,
  isListing,
  isSharable,
  keepingFields,
  keepsEverything,
  mayShowObjects,
  objectInModel,
  objectPrint,
  objectsInBody,
  objectsInPath,
  objectsInQuery,
  openingOf,
  type Question,
  scanFields,
  sessionFields,
  sessionOf,
  type SharedValues,
  stringValue,
} from "@keywheel/pool";
import type { Admitted } from "./admission.ts";
import type { RequestBody } from "./request-body.ts";
import { modelInPath } from "./target.ts";
import { modelInQuery } from "./websocket-handshake.ts";

export type SendableBody = Extract<RequestBody, { kind: "none" | "buffered" | "streamed" }>;

/** What a request wants of the pool, and what may be learnt from its answer. */
export interface Asked {
  readonly question: Question;
  /** That it names. */
  readonly model: string | undefined;
  /** Whether the answer may show objects that later calls will name. */
  readonly mayShowObjects: boolean;
}

const scannedFields: ReadonlySet<string> = new Set(["model", ...keepingFields, ...sessionFields]);
/** Endpoints whose requests carry a conversation; elsewhere an `input` is a text like any other. */
const conversing =
  /\/(chat\/completions|responses|messages|api\/chat|chat)\/?$|:(generateContent|streamGenerateContent)$/;
const noFields: ReadonlyMap<string, string> = new Map();
const longestModel = 256;

/** Reads session, model and named objects from headers, path and body; the body is read once and not parsed. */
export function askPool(passage: Admitted, body: SendableBody, sharedValues: SharedValues): Asked {
  const { runtime, token, header, pathOnly, request, upgrade, target } = passage;
  const method = request.method ?? "";
  const json = jsonBytes(passage, body);
  const fields = json === undefined ? noFields : scanFields(json, scannedFields);
  const scope = `${runtime.record.id}\n${token?.id ?? ""}`;
  const named = sessionOf(scope, header, fields);
  const mayBeShared = named !== undefined && isSharable(named);
  const opening = mayBeShared && json !== undefined ? openingOf(json) : undefined;
  const isShared = mayBeShared && sharedValues.isShared(named.fingerprint, opening, passage.startedAt);
  const session = isShared ? undefined : named;
  // A conversation under a name that turns out to be shared shall stay where it is.
  const mayContinue = (session === undefined || mayBeShared) && json !== undefined && runtime.settings.affinity.enabled;
  const conversation = mayContinue && isConversing(pathOnly) ? conversationOf(scope, json) : undefined;
  const askedModel = upgrade === undefined ? stringValue(fields.get("model")) : modelInQuery(target.query);
  const model = modelInPath(runtime.record.kind, pathOnly) ?? askedModel;
  const objects = runtime.pool.hasPins ? namedObjects(passage, json, model) : [];
  const question: Question = {
    ...(session === undefined ? {} : { session }),
    ...(conversation === undefined ? {} : { conversation }),
    model: (model ?? endpointOf(method, pathOnly)).slice(0, longestModel),
    ...(objects.length === 0 ? {} : { objects }),
    ...(session === undefined && isListing(method, pathOnly) ? { first: true } : {}),
  };
  const shows = mayShowObjects(method, pathOnly, fields, json) || keepsEverything(runtime.record.preset);
  return { question, model: model?.slice(0, longestModel), mayShowObjects: shows };
}

/** What a key may lack where no model is named: a method on a path, whatever object it is about. */
function endpointOf(method: string, path: string): string {
  const words = path.split("/").map((segment) => (isWord(segment) ? segment : "*"));
  return `${method} ${words.join("/")}`;
}

/** A version or a word of the API's; all else is a name. */
function isWord(segment: string): boolean {
  return segment.length <= 32 && /^(?:v\d+[a-z\d]*|[A-Za-z_-]*)$/.test(segment);
}

function isConversing(path: string): boolean {
  return conversing.test(path);
}

function namedObjects(
  { runtime, pathOnly, target }: Admitted,
  json: Buffer | undefined,
  model: string | undefined,
): Fingerprint[] {
  const ids = [...objectsInQuery(target.query), ...objectsInPath(pathOnly)];
  if (model !== undefined) ids.push(...objectInModel(model));
  if (json !== undefined) ids.push(...objectsInBody(json.toString("latin1")));
  return ids.map((id) => objectPrint(runtime.record.id, id));
}

/** The body if it is JSON that can be read as it is. */
function jsonBytes({ header }: Admitted, body: SendableBody): Buffer | undefined {
  if (body.kind !== "buffered") return undefined;
  const encoding = header("content-encoding");
  const isPlain = encoding === undefined || encoding.toLowerCase() === "identity";
  return isPlain && /[/+]json\b/i.test(header("content-type") ?? "") ? body.bytes : undefined;
}
